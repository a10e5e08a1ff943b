// The C interface of nvml.h (NVIDIA, "NVML API Reference Guide"), as far as it is used here, by dlsym(3).
#include "supervise/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace holdfast::supervise {
namespace {

using Device = void*;
using EventSet = void*;
struct Memory {
  unsigned long long total, free, used;
};
struct Event {
  Device device;
  unsigned long long type, data;
  unsigned int gpu_instance, compute_instance;
};
constexpr unsigned long long kXidEvent = 0x8;
constexpr int kTemperatureOfGpu = 0, kClockOfSm = 1;

/// A function of the library under its present or its former name; calls give 13 (NVML_ERROR_FUNCTION_NOT_FOUND) where
/// there is none.
template <class... Arguments>
struct Function {
  int (*call)(Arguments...) = nullptr;
  int operator()(Arguments... arguments) const { return call ? call(arguments...) : 13; }
  void find(void* library, const char* name, const char* former = nullptr) {
    void* symbol = ::dlsym(library, name);
    if (symbol == nullptr && former != nullptr) symbol = ::dlsym(library, former);
    call = reinterpret_cast<int (*)(Arguments...)>(symbol);
  }
};

struct Library {
  void* handle = nullptr;
  Function<> init, shutdown;
  Function<char*, unsigned> driver_version, library_version;
  Function<int*> cuda_version;
  Function<unsigned*> count;
  Function<unsigned, Device*> device;
  Function<Device, char*, unsigned> name, uuid;
  Function<Device, int, unsigned*> temperature, clock;
  Function<Device, unsigned*> power;
  Function<Device, unsigned long long*> reasons;
  Function<Device, Memory*> memory;
  Function<EventSet*> make_events;
  Function<Device, unsigned long long, EventSet> watch_events;
  Function<EventSet, Event*, unsigned> wait_event;
  Function<EventSet> free_events;

  bool open() {
    handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    init.find(handle, "nvmlInit_v2", "nvmlInit");
    shutdown.find(handle, "nvmlShutdown");
    driver_version.find(handle, "nvmlSystemGetDriverVersion");
    library_version.find(handle, "nvmlSystemGetNVMLVersion");
    cuda_version.find(handle, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion");
    count.find(handle, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
    device.find(handle, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
    name.find(handle, "nvmlDeviceGetName");
    uuid.find(handle, "nvmlDeviceGetUUID");
    temperature.find(handle, "nvmlDeviceGetTemperature");
    clock.find(handle, "nvmlDeviceGetClockInfo");
    power.find(handle, "nvmlDeviceGetPowerUsage");
    reasons.find(handle, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
    memory.find(handle, "nvmlDeviceGetMemoryInfo");
    make_events.find(handle, "nvmlEventSetCreate");
    watch_events.find(handle, "nvmlDeviceRegisterEvents");
    wait_event.find(handle, "nvmlEventSetWait_v2", "nvmlEventSetWait");
    free_events.find(handle, "nvmlEventSetFree");
    return true;
  }
};

template <class... More, class Get>
std::string text_of(const Get& get, More... more) {
  std::array<char, 96> text{};
  if (get(more..., text.data(), static_cast<unsigned>(text.size() - 1)) != 0) return {};
  return text.data();
}

GpuReading reading_of(const Library& nvml, unsigned index) {
  GpuReading gpu;
  Device device = nullptr;
  gpu.status = nvml.device(index, &device);
  if (gpu.status != 0) return gpu;
  gpu.name = text_of(nvml.name, device);
  gpu.uuid = text_of(nvml.uuid, device);
  unsigned value = 0;
  unsigned long long bits = 0;
  Memory memory{};
  gpu.status = nvml.temperature(device, kTemperatureOfGpu, &value);
  if (gpu.status == 0) gpu.temperature_celsius = value;
  if (nvml.power(device, &value) == 0) gpu.power_milliwatts = value;
  if (nvml.clock(device, kClockOfSm, &value) == 0) gpu.sm_clock_mhz = value;
  if (nvml.reasons(device, &bits) == 0) gpu.clock_reasons = static_cast<std::int64_t>(bits);
  if (nvml.memory(device, &memory) == 0) {
    gpu.memory_used = static_cast<std::int64_t>(memory.used);
    gpu.memory_total = static_cast<std::int64_t>(memory.total);
  }
  return gpu;
}

}  // namespace

Found<GpuReport> ask_nvml() {
  Found<GpuReport> found;
  found.source = "NVML (libnvidia-ml.so.1)";
  Library nvml;
  if (!nvml.open()) return found;
  found.access = Access::kValue;
  GpuReport& report = found.value;
  report.status = nvml.init();
  if (report.status == 0) {
    report.driver = text_of(nvml.driver_version);
    report.library = text_of(nvml.library_version);
    int cuda = 0;
    if (nvml.cuda_version(&cuda) == 0) report.cuda = cuda;
    unsigned count = 0;
    if (nvml.count(&count) == 0)
      for (unsigned i = 0; i < count && i < 64; ++i) report.gpus.push_back(reading_of(nvml, i));
    nvml.shutdown();
  }
  ::dlclose(nvml.handle);
  return found;
}

struct GpuWatch::Impl {
  Library nvml;
  std::int64_t status = 0;
  EventSet events = nullptr;
  std::int64_t last_xid = kUnknown;

  void begin() {
    status = nvml.init();
    Device device = nullptr;
    if (status != 0 || nvml.device(0, &device) != 0 || nvml.make_events(&events) != 0) return;
    (void)nvml.watch_events(device, kXidEvent, events);
  }
  void take_events() {
    Event event{};
    for (int i = 0; events != nullptr && i < 64 && nvml.wait_event(events, &event, 0) == 0; ++i)
      if (event.type == kXidEvent) last_xid = static_cast<std::int64_t>(event.data);
  }
};

std::unique_ptr<GpuWatch> GpuWatch::open() {
  auto impl = std::make_unique<Impl>();
  if (!impl->nvml.open()) return nullptr;
  impl->begin();
  return std::unique_ptr<GpuWatch>(new GpuWatch(std::move(impl)));
}

GpuWatch::GpuWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GpuWatch::~GpuWatch() {
  if (impl_->events != nullptr) (void)impl_->nvml.free_events(impl_->events);
  if (impl_->status == 0) (void)impl_->nvml.shutdown();
  ::dlclose(impl_->nvml.handle);
}

void GpuWatch::sample(Gpu& into) {
  into.status = impl_->status;
  if (impl_->status != 0) return;
  const GpuReading reading = reading_of(impl_->nvml, 0);
  into.status = reading.status;
  into.temperature_celsius = reading.temperature_celsius;
  into.power_milliwatts = reading.power_milliwatts;
  into.sm_clock_mhz = reading.sm_clock_mhz;
  into.clock_reasons = reading.clock_reasons;
  into.memory_used = reading.memory_used;
  into.memory_total = reading.memory_total;
  impl_->take_events();
  into.last_xid = impl_->last_xid;
}

}  // namespace holdfast::supervise
