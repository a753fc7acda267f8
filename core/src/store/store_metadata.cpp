#include "store/store_metadata.hpp"

#include <algorithm>
#include <array>

namespace crosscut::store {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::array type_names{"uint8", "int32", "int64", "float64"};  // in the order of Element

template <typename T>
Value list(const std::vector<T>& values) {
  return Array(values.begin(), values.end());
}

Value codec(const char* name, Object configuration) {
  Object result{{"name", name}};
  if (!configuration.empty()) result.emplace_back("configuration", std::move(configuration));
  return result;
}

// Single bytes have no byte order: the codec takes no configuration for them.
Value bytes_codec(Element element) {
  return codec("bytes", element == Element::uint8 ? Object{} : Object{{"endian", "little"}});
}

Value codecs(const ArrayLayout& layout) {
  if (!layout.sharded) return Array{bytes_codec(layout.element)};
  return Array{codec("sharding_indexed", {{"chunk_shape", list(layout.inner)},
                                          {"codecs", Array{bytes_codec(layout.element)}},
                                          {"index_codecs", Array{bytes_codec(Element::int64)}},
                                          {"index_location", "start"}})};
}

}  // namespace

Value array_metadata(const ArrayLayout& layout) {
  return Object{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", list(layout.shape)},
      {"dimension_names", list(layout.dimensions)},
      {"data_type", type_names[static_cast<std::size_t>(layout.element)]},
      {"chunk_grid", codec("regular", {{"chunk_shape", list(layout.chunk)}})},
      {"chunk_key_encoding", codec("default", {{"separator", "/"}})},
      {"fill_value", layout.fill},
      {"codecs", codecs(layout)},
      {"attributes", Object{}},
      {"storage_transformers", Array{}},
  };
}

Value group_metadata(std::span<const ArrayLayout> layouts, const Object& attributes) {
  Object arrays;
  for (const ArrayLayout& layout : layouts)
    arrays.emplace_back(std::string(layout.name), array_metadata(layout));
  return Object{
      {"zarr_format", 3},
      {"node_type", "group"},
      {"attributes", attributes},
      {"consolidated_metadata",
       Object{{"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(arrays)}}},
  };
}

bool same(const Value& a, const Value& b) {
  if (a.is_object() && b.is_object())
    return a.object().size() == b.object().size() && std::ranges::all_of(a.object(), [&](const auto& member) {
             const Value* other = b.find(member.first);
             return other != nullptr && same(member.second, *other);
           });
  if (a.is_array() && b.is_array()) return std::ranges::equal(a.array(), b.array(), same);
  if (a.is_number() && b.is_number() && a.is_integer() != b.is_integer()) return a.number() == b.number();
  return a == b;
}

}  // namespace crosscut::store
