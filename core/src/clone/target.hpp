// The target of a copy. A target that writing would harm is refused before a byte is written.
//
// A file is written beside its final place as `NAME.crosscut-clone`, which is locked, readable only by its
// owner, and kept if the copy ends early; commit() moves it into place. A device is opened exclusively and
// written in place.
#pragma once

#include <optional>
#include <string>

#include "clone/clone_messages.hpp"
#include "clone/device.hpp"
#include "clone/image.hpp"

namespace crosscut::clone {

// Fills in `{rank}` and `{host}`. Throws UsageError for other braces.
std::string expand_path(const std::string& pattern, std::int32_t rank, const std::string& host);

class Target {
 public:
  // Opens the target of a job at `path` without changing anything that exists. Throws UsageError saying what
  // is in the way and what to do.
  Target(const CloneJob& job, std::string path);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  // Prepares for writing: sets the length, and empties the file unless existing content may be kept.
  void begin();
  // Sets the file's permissions and moves it into place. Call once all bytes are right and on disk. Throws
  // RunError.
  void commit();

  const Image& image() const;
  const std::string& path() const { return path_; }  // the final path, without symbolic links
  // Returns the number of bytes, from the start, that may hold content to keep.
  std::int64_t resumable_bytes() const { return resumable_bytes_; }
  // Identify the file or device that is written, and the one that it replaces (empty: none), on this machine.
  std::string identity() const;
  const std::string& place_identity() const { return place_identity_; }
  const std::optional<Device>& device() const { return device_; }

 private:
  void open_file(const CloneJob& job, bool exists);
  bool open_whole(const CloneJob& job, const std::string& unfinished);
  void take_unfinished(const CloneJob& job, const std::string& name, Fd fd);
  void open_device(const CloneJob& job, const struct stat& looked_at);
  void check_space(const CloneJob& job, const struct stat& status) const;

  std::string path_, place_identity_;
  std::optional<Image> image_;
  std::optional<Device> device_;
  mode_t permissions_;
  bool overwrite_, is_in_place_ = false, is_new_ = false, has_begun_ = false;
  std::int64_t resumable_bytes_ = 0;
};

}  // namespace crosscut::clone
