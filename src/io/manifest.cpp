// The JSON of checkpoints.
#include "io/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "io/digest.h"
#include "io/json.h"

namespace mtf {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t format_version = 1;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Failure(Exit::bad_input, where + ": " + what);
}

uint64_t digest_of(const json& value, const std::string& where) {
  const std::string text = text_of(value, where);
  uint64_t digest = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() != 16)
    refuse(where, "expected a digest of 16 hexadecimal digits, found '" + text + "'");
  return digest;
}

DType dtype_of(const std::string& name, const std::string& where) {
  for (DType t : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::u8, DType::boolean})
    if (name == name_of(t))
      return t;
  refuse(where, "unknown dtype '" + name + "'");
}

ordered_json describe(const TensorInfo& t) {
  return {{"dtype", name_of(t.dtype)}, {"dims", t.dims}, {"size", t.size}};
}

TensorInfo read_tensor(const std::string& name, const json& entry, const std::string& where) {
  TensorInfo t{name, dtype_of(text_of(field_of(entry, "dtype", where), where), where),
               texts_of(field_of(entry, "dims", where), where),
               integers_of(field_of(entry, "size", where), where)};
  if (t.dims.size() != t.size.size())
    refuse(where,
           fmt::format("tensor '{}' has {} dims and {} sizes", name, t.dims.size(), t.size.size()));
  return t;
}

// The opening of the text, up to where the digested part begins.
std::string opening(uint64_t digest) {
  return "{\n  \"crc64\": \"" + in_hex(digest) + "\",";
}

}  // namespace

std::string print_manifest(const Manifest& manifest) {
  ordered_json all;
  all["checkpoint"] = format_version;
  all["step"] = manifest.step;
  all["run_id"] = manifest.run_id;
  all["state"] = manifest.state;
  all["shards"] = ordered_json::array();
  for (const ShardRecord& s : manifest.shards)
    all["shards"].push_back(
        {{"rank", s.rank}, {"bytes", s.bytes}, {"header_crc64", in_hex(s.header_digest)}});
  all["tensors"] = ordered_json::object();
  for (const TensorInfo& t : manifest.tensors)
    all["tensors"].push_back({t.name, describe(t)});
  const std::string rest = dump_json(all, 2).substr(1) + "\n";
  return opening(crc64(rest)) + rest;
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  const size_t begin = opening(0).size();
  if (text.size() < begin)
    refuse(where, fmt::format("expected at least {} bytes, found {}", begin, text.size()));
  const uint64_t digest = crc64(text.substr(begin));
  if (text.substr(0, begin) != opening(digest))
    refuse(where, "the digest of its bytes is " + in_hex(digest) +
                      ", which is not the one at its beginning: the file is damaged");
  const json all = parse_json(text, where);
  Manifest manifest;
  if (const int64_t v = integer_of(field_of(all, "checkpoint", where), where); v != format_version)
    refuse(where, fmt::format("expected checkpoint format {}, found {}", format_version, v));
  manifest.step = integer_of(field_of(all, "step", where), where);
  manifest.run_id = text_of(field_of(all, "run_id", where), where);
  for (const auto& [key, value] : field_of(all, "state", where).items())
    manifest.state[key] = text_of(value, where);
  for (const json& s : field_of(all, "shards", where))
    manifest.shards.push_back({integer_of(field_of(s, "rank", where), where),
                               integer_of(field_of(s, "bytes", where), where),
                               digest_of(field_of(s, "header_crc64", where), where)});
  for (const auto& [name, entry] : field_of(all, "tensors", where).items())
    manifest.tensors.push_back(read_tensor(name, entry, where));
  return manifest;
}

std::string print_box(const BoxRecord& box) {
  return dump_json({{"dims", box.dims},
                    {"whole", box.whole},
                    {"origin", box.origin},
                    {"crc64", in_hex(box.digest)}});
}

BoxRecord parse_box(std::string_view text, const std::string& where) {
  const json box = parse_json(text, where);
  return {texts_of(field_of(box, "dims", where), where),
          integers_of(field_of(box, "whole", where), where),
          integers_of(field_of(box, "origin", where), where),
          digest_of(field_of(box, "crc64", where), where)};
}

std::string step_name(int64_t step) {
  return fmt::format("step_{}", step);
}
std::string shard_name(int64_t rank) {
  return fmt::format("shard_{}.safetensors", rank);
}

}  // namespace mtf
