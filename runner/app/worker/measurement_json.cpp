// Figures of a measurement for programs; null for what is not known.
#include <nlohmann/json.hpp>

#include "app/worker/measurement_text.hpp"

namespace holdfast::app {
namespace {

using Json = nlohmann::ordered_json;
using engine::Measurement;
using engine::SavedGroup;

Json seconds(const std::optional<Duration>& time) {
  return time ? Json(std::chrono::duration<double>(*time).count()) : Json();
}

Json shortage_json(const std::optional<engine::Shortage>& shortage) {
  return shortage ? Json{{"place", shortage->place}, {"text", shortage->text}} : Json();
}

Json phases_json(const Measurement& m) {
  Json list = Json::array();
  for (const auto& phase : m.phases)
    list.push_back({{"name", phase.name},
                    {"peak_bytes", phase.peak},
                    {"rise_bytes", phase.rise},
                    {"seconds", seconds(phase.time)}});
  return list;
}

Json segments_json(const Measurement& m) {
  Json list = Json::array();
  for (const auto& row : m.segments)
    list.push_back({{"name", row.name.empty() ? Json() : Json(row.name)},
                    {"recomputed", row.recomputed},
                    {"offloaded", row.offloaded},
                    {"saved_bytes", row.saved},
                    {"host_bytes", row.sent},
                    {"dropped_bytes", row.dropped},
                    {"input_bytes", row.inputs},
                    {"output_bytes", row.outputs},
                    {"forward_rise_bytes", row.forward_rise},
                    {"backward_rise_bytes", row.backward_rise},
                    {"forward_seconds", seconds(row.forward)},
                    {"backward_seconds", seconds(row.backward)},
                    {"recompute_seconds", seconds(row.recompute)}});
  return list;
}

Json saved_json(const Measurement& m) {
  const auto kept = [](SavedGroup::Where where) {
    return where == SavedGroup::Where::kDevice ? "device" : where == SavedGroup::Where::kHost ? "host" : "dropped";
  };
  Json list = Json::array();
  for (const auto& group : m.largest) {
    Json segments = Json::array();
    for (const auto& name : group.segments) segments.push_back(name.empty() ? Json() : Json(name));
    list.push_back({{"operator", group.operation},
                    {"dtype", group.dtype},
                    {"shape", group.shape},
                    {"kept", kept(group.where)},
                    {"count", group.count},
                    {"bytes", group.bytes},
                    {"tensor_bytes", group.tensor_bytes},
                    {"segments", segments}});
  }
  return list;
}

Json precision_json(const Measurement& m) {
  if (!m.precision) return {};
  const auto& p = *m.precision;
  return {{"name", p.name},
          {"update_seconds", seconds(p.update)},
          {"fp32_update_seconds", seconds(p.full_update)},
          {"activations_bytes", p.activations},
          {"fp32_activations_bytes", p.full_activations}};
}

}  // namespace

Json measurement_json(const Measurement& measured) {
  return {{"updates", measured.updates},
          {"samples", measured.samples},
          {"micro_batches", measured.micro_batches},
          {"micro_batch_samples", measured.micro_batch_samples},
          {"update_seconds", seconds(measured.update)},
          {"memory",
           {{"weights_bytes", measured.weights},
            {"gradients_bytes", measured.gradients},
            {"moments_bytes", measured.moments},
            {"moments_domain", measured.moments_on_host ? "host" : "device"},
            {"activations_bytes", measured.activations},
            {"saved_bytes", measured.saved},
            {"other_bytes", measured.other},
            {"peak_bytes", measured.peak},
            {"budget_bytes", measured.budget > 0 ? Json(measured.budget) : Json()}}},
          {"phases", phases_json(measured)},
          {"segments", segments_json(measured)},
          {"saved_tensors", saved_json(measured)},
          {"precision", precision_json(measured)},
          {"out_of_memory", shortage_json(measured.shortage)},
          {"fp32_out_of_memory", shortage_json(measured.full_shortage)}};
}

}  // namespace holdfast::app
