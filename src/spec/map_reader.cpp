// The keys of one map: taken one by one by the descriptions, the rest reported.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/document.h"
#include "spec/later.h"
#include "spec/misplaced.h"
#include "spec/reader.h"

namespace mtf {
namespace {

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

const MapReader::Entry* MapReader::take(std::string_view key) {
  if (!contains(known_, key))
    known_.emplace_back(key);
  for (const Entry& entry : map_.entries)
    if (entry.first.text == key)
      return entry.second.is_null() ? nullptr : &entry;
  return nullptr;
}

void MapReader::path(std::string_view key, std::string& target, std::string_view) {
  if (const Entry* entry = take(key))
    reader_.read_path(entry->second, entry->first, target);
}

void MapReader::paths(std::string_view key, std::vector<std::string>& target, std::string_view) {
  const Entry* entry = take(key);
  if (entry == nullptr)
    return;
  const YamlNode& value = entry->second;
  if (value.is_list() && value.items.empty())
    reader_.diagnostics.add(
        {Code::spec_range, fmt::format("'{}' names no file", key), value.span, {}, {}});
  for (const YamlNode& item : value.is_list() ? value.items : std::vector<YamlNode>{value})
    reader_.read_path(item, entry->first, target.emplace_back());
}

void MapReader::name_or_path(std::string_view key, std::string& target, std::string_view) {
  const Entry* entry = take(key);
  if (entry == nullptr)
    return;
  if (entry->second.text.find_first_of("./") != std::string::npos)
    reader_.read_path(entry->second, entry->first, target);
  else
    reader_.read(entry->second, entry->first, target);
}

void MapReader::expression(std::string_view key, std::string& text, SourceSpan& span,
                           std::string_view) {
  if (const Entry* entry = take(key))
    reader_.read_expression(entry->second, entry->first, text, span);
}

void MapReader::group(std::string_view key, std::string_view,
                      const std::function<void(MapReader&)>& inner) {
  const Entry* entry = take(key);
  if (entry == nullptr || !reader_.expect_map(entry->second, entry->first))
    return;
  MapReader map(reader_, entry->second, entry->first.text, entry->first.span);
  inner(map);
  map.finish();
}

void MapReader::alternative(std::string_view key, const std::function<void()>& choose) {
  alternatives_.emplace_back(key);
  const Entry* entry = take(key);
  if (entry == nullptr)
    return;
  chosen_.push_back(entry);
  choose();
}

void MapReader::later(std::string_view key) {
  const Entry* entry = take(key);
  if (entry == nullptr)
    return;
  later_given_ = true;
  reader_.diagnostics.add(not_yet(key, entry->first.span));
}

void MapReader::finish() {
  for (const Entry& entry : map_.entries)
    if (!contains(known_, entry.first.text))
      report_unknown(entry);
  for (const std::string& key : required_)
    if (take(key) == nullptr)
      report_missing("'" + key + "'");
  check_alternatives();
}

void MapReader::report_unknown(const Entry& entry) {
  const YamlNode::Key& key = entry.first;
  MeantKey meant = meant_key(entry, title_, known_, reader_.document());
  suspected_.push_back(meant.here);
  reader_.diagnostics.add(unknown_key(title_, key, std::move(meant.help)));
}

// `needed` is "'key'". A misspelt key was reported already; it is not missing too.
void MapReader::report_missing(const std::string& needed) {
  if (contains(suspected_, needed.substr(1, needed.size() - 2)))
    return;
  reader_.diagnostics.add(
      {Code::spec_missing_key, fmt::format("{} needs {}", title_, needed), at_, {}, {}});
}

void MapReader::check_alternatives() {
  if (alternatives_.empty() || later_given_)
    return;
  if (chosen_.empty() && suspected_.empty())  // an unknown key may be meant for one of them
    reader_.diagnostics.add({Code::spec_missing_key,
                             fmt::format("{} needs one of {}", title_, listed(alternatives_)),
                             at_,
                             {},
                             {}});
  for (size_t i = 1; i < chosen_.size(); ++i)
    reader_.diagnostics.add({Code::spec_range,
                             fmt::format("{} takes only one of '{}' and '{}'", title_,
                                         chosen_[0]->first.text, chosen_[i]->first.text),
                             chosen_[i]->first.span,
                             {{chosen_[0]->first.span, "the other one is here"}},
                             {}});
}

}  // namespace mtf
