#include "launch/last_words.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "base/fd.hpp"
#include "base/utf8.hpp"

namespace crosscut::launch {

LastWords::LastWords() {
  void* at = ::mmap(nullptr, bytes_max, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw_errno("taking a page of memory for a rank's last words");
  page_.reset(static_cast<char*>(at), [](char* page) { ::munmap(page, bytes_max); });
}

void LastWords::say(std::string_view text) const {
  const auto said = text.substr(0, bytes_max);
  std::fill(std::ranges::copy(said, page_.get()).out, page_.get() + bytes_max, '\0');
}

// The rank may have failed in any way: unprintable bytes are left out.
std::string LastWords::heard() const {
  const std::string_view page(page_.get(), bytes_max);
  std::string_view rest = page.substr(0, page.find('\0'));
  std::string text;
  while (!rest.empty()) {
    const std::size_t length = utf8_length(rest);
    const bool is_blank = length == 1 && static_cast<unsigned char>(rest.front()) < ' ';
    if (is_blank)
      text += ' ';
    else
      text += rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

}  // namespace crosscut::launch
