// Exit codes of every holdfast process. The table with meanings for people is base/exit_codes.hpp;
// plugins need only the numbers, to say what kind of failure an Error is.
#pragma once

namespace holdfast {

enum class ExitCode : int {
  kOk = 0,
  kUsage = 64,
  kBadData = 65,
  kMissingInput = 66,
  kUnavailable = 69,
  kBug = 70,
  kCannotCreate = 73,
  kIoError = 74,
  kStoppedAfterSave = 75,
  kPermission = 77,
  kBadRecipe = 78,
  kPlugin = 80,
  kDeviceOutOfMemory = 81,
  kDiverged = 82,
  kHang = 83,
  kDeviceFault = 84,
  kSharedMemory = 85,
  kKilled = 86,
  kStoppedWithoutSave = 87,
  kHostOutOfMemory = 88,
};

}  // namespace holdfast
