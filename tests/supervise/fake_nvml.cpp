// A library with the names of NVML, for machines without a GPU: one device that does what FAKE_NVML_* say.
#include <cstdlib>
#include <cstring>

namespace {

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atol(text) : otherwise;
}

int copy(char* to, unsigned size, const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  std::strncpy(to, text != nullptr ? text : otherwise, size - 1);
  to[size - 1] = '\0';
  return 0;
}

int device;
bool told_xid = false;

struct Memory {
  unsigned long long total, free, used;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int nvmlInit_v2() { return static_cast<int>(setting("FAKE_NVML_INIT", 0)); }
EXPORTED int nvmlShutdown() { return 0; }
EXPORTED int nvmlSystemGetDriverVersion(char* to, unsigned size) {
  return copy(to, size, "FAKE_NVML_DRIVER", "550.54.15");
}
EXPORTED int nvmlSystemGetNVMLVersion(char* to, unsigned size) {
  return copy(to, size, "FAKE_NVML_LIBRARY", "12.550.54.15");
}
EXPORTED int nvmlSystemGetCudaDriverVersion(int* version) {
  *version = static_cast<int>(setting("FAKE_NVML_CUDA", 12040));
  return 0;
}
EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(setting("FAKE_NVML_COUNT", 1));
  return 0;
}
EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned, void** to) {
  *to = &device;
  return static_cast<int>(setting("FAKE_NVML_DEVICE", 0));
}
EXPORTED int nvmlDeviceGetName(void*, char* to, unsigned size) { return copy(to, size, "FAKE_NVML_NAME", "Fake GPU"); }
EXPORTED int nvmlDeviceGetUUID(void*, char* to, unsigned size) { return copy(to, size, "FAKE_NVML_UUID", "GPU-0"); }
EXPORTED int nvmlDeviceGetTemperature(void*, int, unsigned* to) {
  *to = static_cast<unsigned>(setting("FAKE_NVML_TEMPERATURE", 40));
  return 0;
}
EXPORTED int nvmlDeviceGetClockInfo(void*, int, unsigned* to) {
  *to = 1500;
  return 0;
}
EXPORTED int nvmlDeviceGetPowerUsage(void*, unsigned* to) {
  *to = 90000;
  return 0;
}
EXPORTED int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* to) {
  *to = static_cast<unsigned long long>(setting("FAKE_NVML_REASONS", 0));
  return 0;
}
EXPORTED int nvmlDeviceGetMemoryInfo(void*, Memory* to) {
  *to = {24ULL << 30, 20ULL << 30, 4ULL << 30};
  return 0;
}
EXPORTED int nvmlEventSetCreate(void** to) {
  *to = &device;
  return 0;
}
EXPORTED int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }
EXPORTED int nvmlEventSetWait_v2(void*, Event* to, unsigned) {
  const long xid = setting("FAKE_NVML_XID", 0);
  if (xid == 0 || told_xid) return 10;
  told_xid = true;
  *to = {&device, 0x8, static_cast<unsigned long long>(xid), 0, 0};
  return 0;
}
EXPORTED int nvmlEventSetFree(void*) { return 0; }
