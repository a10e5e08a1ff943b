// Columns that would be empty in every row are left out.
#include "app/worker/measurement_text.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "app/worker/table.hpp"
#include "base/text.hpp"

namespace holdfast::app {
namespace {

using engine::Measurement;
using engine::SavedGroup;
using engine::SegmentCost;

constexpr std::size_t kLargest = 10;    // rows of saved tensors
constexpr std::size_t kNameWidth = 19;  // as wide as "outside of segments"

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

std::string fixed(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string time_text(const std::optional<Duration>& time) {
  if (!time) return "-";
  const double s = seconds(*time);
  if (s < 1e-3) return fixed("%.0f us", s * 1e6);
  if (s < 10) return fixed(s < 0.1 ? "%.2f ms" : "%.0f ms", s * 1e3);
  return fixed(s < 100 ? "%.1f s" : "%.0f s", s);
}

std::string bytes_text(std::int64_t bytes) { return bytes == 0 ? "-" : base::human_bytes(bytes); }

std::string heading(const Measurement& m) {
  if (m.shortage) return "until memory ran out: " + base::shortened(m.shortage->place, 74) + "\n";
  std::string text = "measured: " + std::to_string(m.updates) + (m.updates == 1 ? " update" : " updates") + " of " +
                     base::human_count(m.samples) + " samples";
  if (m.micro_batches > 1)
    text += ", in " + std::to_string(m.micro_batches) + " micro-batches of " + std::to_string(m.micro_batch_samples);
  if (m.update)
    text += "\nan update takes " + time_text(m.update) + ": " +
            fixed("%.0f", static_cast<double>(m.samples) / seconds(*m.update)) + " samples a second";
  return text + "\n";
}

std::string memory_table(const Measurement& m) {
  Table table({"memory", ">bytes", ""});
  const auto row = [&](const char* what, std::int64_t bytes, const char* where) {
    table.add({what, bytes_text(bytes), where});
  };
  row("weights", m.weights, "with buffers");
  row("gradients", m.gradients, "");
  row("moments", m.moments, m.moments_on_host ? "in the host domain" : "");
  row("activations", m.activations, m.micro_batches > 1 ? "of one micro-batch" : "");
  row("other", m.other, "there before an update");
  const std::string budget = m.budget > 0 ? "of the budget of " + base::human_bytes(m.budget) : "";
  table.add({"peak", base::human_bytes(m.peak), budget});
  return table.text();
}

std::string phase_table(const Measurement& m) {
  Table table({"phase", ">peak", ">rise", ">time"});
  for (const auto& phase : m.phases)
    table.add({phase.name, base::human_bytes(phase.peak), bytes_text(phase.rise), time_text(phase.time)});
  return table.text();
}

std::string segment_name(const std::string& name, bool alone) {
  if (!name.empty()) return base::shortened(name, kNameWidth);
  return alone ? "whole model" : "outside of segments";
}

std::string segment_table(const Measurement& m) {
  const auto any = [&](auto field) {
    return std::ranges::any_of(m.segments, [&](const SegmentCost& row) { return std::invoke(field, row) > 0; });
  };
  const bool sent = any(&SegmentCost::sent), dropped = any(&SegmentCost::dropped);
  std::vector<std::string> heads = {"segment", ">saved"};
  if (sent) heads.emplace_back(">on host");
  if (dropped) heads.emplace_back(">dropped");
  for (const char* head : {">rise", ">forward", ">backward"}) heads.emplace_back(head);
  if (dropped) heads.emplace_back(">recompute");
  Table table(heads);
  for (const auto& row : m.segments) {
    std::vector<std::string> cells = {segment_name(row.name, m.segments.size() == 1), bytes_text(row.saved)};
    if (sent) cells.push_back(bytes_text(row.sent));
    if (dropped) cells.push_back(bytes_text(row.dropped));
    cells.push_back(bytes_text(std::max(row.forward_rise, row.backward_rise)));
    cells.push_back(time_text(row.forward));
    cells.push_back(time_text(row.backward));
    if (dropped) cells.push_back(time_text(row.recompute));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string segments_text(const SavedGroup& group, bool alone) {
  const std::string more =
      group.segments.size() > 1 ? " (+" + std::to_string(group.segments.size() - 1) + ")" : std::string();
  return base::shortened(segment_name(group.segments.front(), alone), kNameWidth - more.size()) + more;
}

const char* kept_text(SavedGroup::Where where) {
  return where == SavedGroup::Where::kDevice ? "device" : where == SavedGroup::Where::kHost ? "host" : "dropped";
}

std::string largest_table(const Measurement& m) {
  Table table({">bytes", ">count", "operator", "dtype", "shape", "kept", "segment"});
  bool parts = false;
  for (std::size_t i = 0; i < std::min(kLargest, m.largest.size()); ++i) {
    const SavedGroup& group = m.largest[i];
    const bool part = group.bytes > group.tensor_bytes;
    parts = parts || part;
    table.add({base::human_bytes(group.bytes) + (part ? "*" : ""), std::to_string(group.count),
               group.operation.empty() ? "-" : base::shortened(group.operation, kNameWidth), group.dtype,
               base::shortened(shape_text(group.shape), kNameWidth), kept_text(group.where),
               segments_text(group, m.segments.size() == 1)});
  }
  std::string text =
      "largest saved tensors" + std::string(m.micro_batches > 1 ? " of one micro-batch" : "") + "\n" + table.text();
  if (m.largest.size() > kLargest) text += "and " + std::to_string(m.largest.size() - kLargest) + " smaller ones\n";
  if (parts) text += "* a part of a larger storage, all of which stays\n";
  return text;
}

std::string ratio_text(double ratio) { return fixed(ratio < 10 ? "%.2f" : "%.1f", ratio); }

}  // namespace

std::string measurement_text(const Measurement& measured) {
  std::string text;
  if (!measured.segments.empty()) text += heading(measured) + "\n";
  text += memory_table(measured);
  if (!measured.phases.empty()) text += "\n" + phase_table(measured);
  if (!measured.segments.empty()) text += "\n" + segment_table(measured);
  if (!measured.largest.empty()) text += "\n" + largest_table(measured);
  if (const auto& p = measured.precision)
    text += "\n" + p->name + " against fp32: " + time_text(p->update) + " to " + time_text(p->full_update) +
            " an update, activations " + base::human_bytes(p->activations) + " to " +
            base::human_bytes(p->full_activations) + "\n";
  if (measured.full_shortage)
    text += "\nnot compared with fp32, which does not fit:\n  " + measured.full_shortage->text + "\n";
  return text;
}

std::string slower_precision(const Measurement& measured, const std::string& owner) {
  if (!measured.precision) return {};
  const auto& p = *measured.precision;
  const double ratio = seconds(p.update) / seconds(p.full_update);
  if (!(ratio > 1)) return {};
  const double memory =
      static_cast<double>(p.activations) / static_cast<double>(std::max<std::int64_t>(1, p.full_activations));
  return owner + ": an update in " + p.name + " took " + ratio_text(ratio) +
         " times as long as in fp32 on this device, with " + ratio_text(memory) + " times the activations";
}

}  // namespace holdfast::app
