// Tests without a framework: TEST(name) { CHECK(...); }. Each file is an executable; this header, included
// once, defines `main`. The last line printed is "N passed, N failed"; the exit status is 0 only if something
// ran and nothing failed. Arguments select tests whose names contain any of them.
#pragma once

#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace crosscut::tests {

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

// Ends a test at once; thrown only by REQUIRE.
struct Stop {};

inline int& failures_of_test() {
  static int count = 0;
  return count;
}

// Prints values readably: ranges in brackets, bytes and enumerations as numbers.
template <typename T>
void show(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
    out << "nullptr";
  } else if constexpr (std::is_enum_v<T>) {
    out << +static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (std::is_same_v<T, unsigned char> || std::is_same_v<T, signed char>) {
    out << +value;
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    out << '"' << std::string_view(value) << '"';
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else if constexpr (requires {
                         value.first;
                         value.second;
                       }) {
    out << '(';
    show(out, value.first);
    out << ", ";
    show(out, value.second);
    out << ')';
  } else if constexpr (requires {
                         value.begin();
                         value.end();
                       }) {
    out << '[';
    const char* separator = "";
    for (const auto& element : value) {
      out << separator;
      show(out, element);
      separator = ", ";
    }
    out << ']';
  } else {
    out << "(a value without text)";
  }
}

inline void fail(const char* file, int line, const std::string& message) {
  constexpr int shown_at_most = 20;  // a loop over ranks must not bury the first failure
  const int count = ++failures_of_test();
  if (count <= shown_at_most) std::cout << file << ':' << line << ": " << message << '\n';
  if (count == shown_at_most) std::cout << "  (further failures of this test are not shown)\n";
}

inline bool check_true(bool holds, const char* text, const char* file, int line) {
  if (!holds) fail(file, line, std::string("not true: ") + text);
  return holds;
}

template <typename A, typename B>
bool equal(const A& a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool> &&
                !std::is_same_v<B, bool> && !std::is_same_v<A, char> && !std::is_same_v<B, char>) {
    return std::cmp_equal(a, b);
  } else {
    return a == b;
  }
}

template <typename A, typename B>
bool check_equal(const A& found, const B& expected, const char* text, const char* file, int line) {
  if (equal(found, expected)) return true;
  std::ostringstream message;
  message << text << " is ";
  show(message, found);
  message << ", expected ";
  show(message, expected);
  fail(file, line, message.str());
  return false;
}

// `part`: what the message of the exception must contain; empty: anything.
template <typename Exception, typename Body>
void check_throws(Body&& body, std::string_view part, const char* text, const char* file, int line) {
  try {
    body();
  } catch (const Exception& error) {
    if (std::string_view(error.what()).find(part) == std::string_view::npos)
      fail(file, line,
           std::string(text) + " said \"" + error.what() + "\", without \"" + std::string(part) + '"');
    return;
  } catch (const std::exception& error) {
    fail(file, line, std::string(text) + " threw another exception: " + error.what());
    return;
  }
  fail(file, line, std::string(text) + " did not throw");
}

inline bool run(const Test& test) {
  failures_of_test() = 0;
  try {
    test.body();
  } catch (const Stop&) {
  } catch (const std::exception& error) {
    fail(test.name, 0, std::string("exception: ") + error.what());
  } catch (...) {
    fail(test.name, 0, "an exception that is no std::exception");
  }
  if (failures_of_test() > 0) std::cout << "FAILED " << test.name << '\n';
  return failures_of_test() == 0;
}

inline bool chosen(const Test& test, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(test.name).find(argv[i]) != std::string_view::npos) return true;
  return argc <= 1;
}

}  // namespace crosscut::tests

#define TEST(name)                                                                        \
  static void test_##name();                                                              \
  static const crosscut::tests::Registration registration_of_##name(#name, &test_##name); \
  static void test_##name()

#define CHECK(...) \
  crosscut::tests::check_true(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK_EQ(found, expected) \
  crosscut::tests::check_equal((found), (expected), #found, __FILE__, __LINE__)
#define CHECK_THROWS(exception, ...)                                                                  \
  crosscut::tests::check_throws<exception>([&] { static_cast<void>(__VA_ARGS__); }, "", #__VA_ARGS__, \
                                           __FILE__, __LINE__)
// The message must contain `part`: errors are part of what a user sees.
#define CHECK_THROWS_SAYING(exception, part, ...)                                                       \
  crosscut::tests::check_throws<exception>([&] { static_cast<void>(__VA_ARGS__); }, part, #__VA_ARGS__, \
                                           __FILE__, __LINE__)
// For conditions without which the test cannot continue (an index that would not exist).
#define REQUIRE(...)                                                                                  \
  if (!crosscut::tests::check_true(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)) \
    throw crosscut::tests::Stop {}

int main(int argc, char** argv) {
  int passed = 0, failed = 0;
  for (const crosscut::tests::Test& test : crosscut::tests::tests())
    if (crosscut::tests::chosen(test, argc, argv)) ++(crosscut::tests::run(test) ? passed : failed);
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return passed > 0 && failed == 0 ? 0 : 1;
}
