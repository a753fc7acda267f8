// Where a copy is written: refused before a byte is, where that would do harm.
//
// A file grows beside its place as `NAME.crosscut-clone`, which is locked, readable by its owner alone and
// stays where the copy ends early; commit() puts it into its place. A device is claimed from the kernel for
// this process alone and written in place.
#pragma once

#include <optional>
#include <string>

#include "clone/image.hpp"

namespace crosscut::clone {

struct TargetOrder {
  std::string path;
  std::int64_t bytes = 0;
  mode_t permissions = 0644;
  bool overwrite = false;  // an existing file, a device
  bool resume = false;     // what is there may be kept where it is right
};

// `{rank}` and `{host}` filled in. Throws UsageError where other braces are found.
std::string expand_path(const std::string& pattern, std::int32_t rank, const std::string& host);

class Target {
 public:
  // Changes nothing that was there. Throws UsageError with what is in the way and what to do.
  explicit Target(const TargetOrder& order);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  // From now on it is written to: as long as it will be, and with what is to be kept.
  void begin();
  // All of it is right and on the disk: the file gets its permissions and takes its place. Throws RunError.
  void commit();

  const Image& image() const { return *image_; }
  const std::string& path() const { return path_; }  // where it will be, without symbolic links
  // From the beginning on, where something may lie that can be kept.
  std::int64_t resumable_bytes() const { return resumable_bytes_; }
  // Among the files and devices of this machine: of what is written, and of what it replaces (empty:
  // nothing).
  std::string identity() const;
  const std::string& place_identity() const { return place_identity_; }

 private:
  void open_file(const TargetOrder& order, bool exists);
  bool open_whole(const TargetOrder& order, const std::string& unfinished);
  void take_unfinished(const TargetOrder& order, const std::string& name, Fd fd);
  void open_device(const TargetOrder& order);
  void check_space(const TargetOrder& order, const struct stat& status) const;

  std::string path_, place_identity_;
  std::optional<Image> image_;
  mode_t permissions_;
  bool overwrite_, is_in_place_ = false, is_new_ = false, has_begun_ = false;
  std::int64_t resumable_bytes_ = 0;
};

}  // namespace crosscut::clone
