// From what a series saw to figures.
#include "engine/measurement.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/update_series.hpp"

namespace holdfast::engine {
namespace {

/// The middle one, or the mean of the two in the middle; none of none.
std::optional<Duration> median(std::vector<Duration> times) {
  if (times.empty()) return std::nullopt;
  std::ranges::sort(times);
  const std::size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

template <class F>
std::optional<Duration> median_of(const UpdateSeries& series, F time) {
  std::vector<Duration> times;
  for (const auto& update : series.timed()) times.push_back(time(update));
  return median(std::move(times));
}

SavedGroup::Where where_of(device::SavedTensor::Where where) {
  using From = device::SavedTensor::Where;
  return where == From::kDevice ? SavedGroup::Where::kDevice
         : where == From::kHost ? SavedGroup::Where::kHost
                                : SavedGroup::Where::kNowhere;
}

const SegmentTrace* find(const MicroBatchTrace& micro, const std::string& name) {
  if (name.empty()) return &micro.outside;
  const auto found = std::ranges::find(micro.segments, name, &SegmentTrace::name);
  return found == micro.segments.end() ? nullptr : &*found;
}

/// Sets the times of a row to the medians over full micro-batches.
void add_times(SegmentCost& row, const UpdateSeries& series, std::int64_t samples) {
  std::vector<Duration> forward, backward, recompute;
  for (const auto& micro : series.traces()) {
    const SegmentTrace* trace = micro.samples == samples ? find(micro, row.name) : nullptr;
    if (!trace) continue;
    forward.push_back(trace->forward);
    backward.push_back(trace->backward);
    if (trace->recompute > Duration{}) recompute.push_back(trace->recompute);
  }
  row.forward = median(std::move(forward));
  row.backward = median(std::move(backward));
  row.recompute = median(std::move(recompute));
}

SegmentCost row_of(const SegmentTrace& trace) {
  SegmentCost row;
  row.name = trace.name;
  row.recomputed = trace.trade.recomputed;
  row.offloaded = trace.trade.offloaded;
  row.inputs = trace.input_bytes;
  row.outputs = trace.output_bytes;
  return row;
}

void raise(std::int64_t& highest, std::int64_t value) { highest = std::max(highest, value); }

std::vector<SegmentCost> segment_rows(const UpdateSeries& series) {
  const MicroBatchTrace& first = series.looked().front();
  std::vector<SegmentCost> rows;
  for (const auto& trace : first.segments) rows.push_back(row_of(trace));
  rows.push_back(row_of(first.outside));
  for (const auto& record : first.saved) {
    auto& row = record.segment < 0 ? rows.back() : rows[static_cast<std::size_t>(record.segment)];
    const auto where = where_of(record.where);
    (where == SavedGroup::Where::kDevice ? row.saved
     : where == SavedGroup::Where::kHost ? row.sent
                                         : row.dropped) += record.bytes;
  }
  for (auto& row : rows) {
    for (const auto& micro : series.looked())
      if (const SegmentTrace* trace = find(micro, row.name)) {
        raise(row.forward_rise, trace->forward_rise);
        raise(row.backward_rise, trace->backward_rise);
      }
    add_times(row, series, first.samples);
  }
  return rows;
}

std::vector<SavedGroup> saved_groups(const MicroBatchTrace& micro) {
  std::vector<SavedGroup> groups;
  for (const auto& record : micro.saved) {
    const SegmentTrace& trace =
        record.segment < 0 ? micro.outside : micro.segments[static_cast<std::size_t>(record.segment)];
    const auto where = where_of(record.where);
    const std::string operation =
        record.operation.empty() && trace.trade.recomputed ? "input of the segment" : record.operation;
    auto found = std::ranges::find_if(groups, [&](const SavedGroup& group) {
      return group.operation == operation && group.dtype == record.dtype && group.shape == record.shape &&
             group.where == where;
    });
    if (found == groups.end())
      found = groups.insert(groups.end(), SavedGroup{operation, record.dtype, record.shape, where, 0, 0, 0, {}});
    ++found->count;
    found->bytes += record.bytes;
    found->tensor_bytes += record.tensor_bytes;
    if (std::ranges::find(found->segments, trace.name) == found->segments.end()) found->segments.push_back(trace.name);
  }
  std::ranges::stable_sort(groups, std::greater{}, &SavedGroup::bytes);
  return groups;
}

std::vector<PhaseCost> phase_rows(const UpdateSeries& series) {
  PhaseCost forward{"forward", 0, 0, median_of(series, [](const auto& u) { return u.times.forward; })};
  PhaseCost backward{"backward", 0, 0, median_of(series, [](const auto& u) { return u.times.backward; })};
  for (const auto& micro : series.looked()) {
    raise(forward.peak, micro.forward_peak);
    raise(forward.rise, micro.forward_peak - micro.before);
    raise(backward.peak, micro.backward_peak);
    raise(backward.rise, micro.backward_peak - micro.before - micro.activations);
  }
  std::vector<PhaseCost> rows = {std::move(forward)};
  if (backward.peak > 0) rows.push_back(std::move(backward));
  for (const auto& figures : series.phases()) {
    if (figures.name == "prepare")
      rows.push_back(
          {"prepare", figures.peak, figures.rise, median_of(series, [](const auto& u) { return u.times.prepare; })});
    if (figures.name == "update")
      rows.push_back({"update", figures.peak, figures.rise,
                      median_of(series, [](const auto& u) { return u.times.update - u.times.prepare; })});
  }
  return rows;
}

}  // namespace

void summarise(const UpdateSeries& series, Measurement& into) {
  into.updates = static_cast<std::int64_t>(series.timed().size());
  into.update = median_of(series, [](const auto& update) { return update.whole; });
  into.shortage = series.shortage();
  if (series.looked().empty()) return;
  const MicroBatchTrace& first = series.looked().front();
  into.micro_batches = static_cast<std::int64_t>(series.looked().size());
  into.micro_batch_samples = first.samples;
  for (const auto& micro : series.looked()) into.samples += micro.samples;
  into.activations = first.activations;
  into.other = first.before - into.weights - (into.moments_on_host ? 0 : into.moments);
  into.phases = phase_rows(series);
  into.segments = segment_rows(series);
  for (const auto& row : into.segments) into.saved += row.saved;
  into.largest = saved_groups(first);
}

}  // namespace holdfast::engine
