// YAML text → YamlNode, over the events of yaml-cpp. What yaml-cpp lets pass although it means
// nothing in a spec (open quotes, duplicates, a second document, control characters, ...) is
// refused here, at its place.
#include "spec/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "spec/yaml_text.h"

namespace mtf {
namespace {

struct Refused {};  // thrown through yaml-cpp after a diagnostic was added

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const Places& places, Diagnostics& diagnostics)
      : places_(places), diagnostics_(diagnostics) {}

  YamlNode root;

  // Where brackets stand that were open when parsing ended, the innermost last.
  std::vector<size_t> open_brackets() const {
    std::vector<size_t> open;
    for (const Frame& frame : frames_)
      if (const std::string_view rest = places_.rest(frame.at);
          rest.starts_with('[') || rest.starts_with('{'))
        open.push_back(frame.at);
    return open;
  }

  bool reads_environment() const { return reads_environment_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, "");
    std::string_view raw = places_.rest(offset(mark));
    YamlNode node;
    if (raw.starts_with('~'))
      node.span = places_.span(offset(mark), 1);
    else if (raw.starts_with("null") || raw.starts_with("Null") || raw.starts_with("NULL"))
      node.span = places_.span(offset(mark), 4);
    else
      node.span = has_key() ? frames_.back().key.span : places_.span(offset(mark), 1);
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(Code::yaml_unsupported, offset(mark), "aliases (*name) are not used in specs",
           "write the value out, or use `extends:`");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = value;
    node.quoted = tag == "!";
    node.span = scalar_span(offset(mark), node);
    refuse_environment(offset(mark), node);
    scalar_at_ = offset(mark);
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

  [[noreturn]] void refuse(Code code, size_t at, std::string message, std::string help = {}) {
    diagnostics_.add({code, std::move(message), places_.span(at, 1), {}, std::move(help)});
    throw Refused();
  }

 private:
  struct Frame {    // a list or map that is still open
    size_t at = 0;  // byte of its bracket, or of its first item
    YamlNode node;
    YamlNode::Key key;  // of a map: the key whose value comes next
    bool key_read = false;
    size_t key_at = 0;
    std::unordered_map<std::string, size_t> keys;  // place in the entries
  };

  static size_t offset(const YAML::Mark& mark) {
    return mark.pos < 0 ? 0 : static_cast<size_t>(mark.pos);
  }
  bool has_key() const {
    return !frames_.empty() && frames_.back().node.is_map() && frames_.back().key_read;
  }
  bool expects_key() const {
    return !frames_.empty() && frames_.back().node.is_map() && !frames_.back().key_read;
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0)
      refuse(Code::yaml_unsupported, offset(mark), "anchors (&name) are not used in specs",
             "write the value out, or use `extends:`");
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    bool written = places_.rest(offset(mark)).starts_with('!');
    if (written || (!tag.empty() && tag != "?" && tag != "!"))
      refuse(Code::yaml_unsupported, offset(mark), "tags (!name) are not used in specs",
             "leave it out; quote text that starts with `!`");
  }

  // Reading goes on, so that all of them are shown.
  void refuse_environment(size_t at, const YamlNode& node) {
    const size_t in_text = node.text.find("${");
    if (in_text == std::string::npos)
      return;
    std::string path;
    for (const Frame& frame : frames_)
      path += (path.empty() ? "" : ".") + (frame.key_read ? frame.key.text : "KEY");
    const std::string_view raw = places_.rest(at);
    const size_t bytes = node.quoted ? raw.find("${") : in_text;
    diagnostics_.add(explain_environment(places_, at + bytes, path));
    reads_environment_ = true;
  }

  SourceSpan scalar_span(size_t at, const YamlNode& node) {
    std::string_view raw = places_.rest(at);
    if (!node.quoted)
      return places_.span(at, raw.starts_with(node.text) ? node.text.size() : 1);
    if (!raw.starts_with('"') && !raw.starts_with('\''))
      return places_.span(at, 1);  // a block scalar: its | or >
    size_t bytes = quoted_bytes(raw);
    if (bytes == 0)
      refuse(Code::yaml_syntax, at, "this quote is never closed");
    return places_.span(at, bytes);
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    // yaml-cpp takes brackets that never close for a key.
    const std::string_view rest = places_.rest(offset(mark));
    const size_t brackets = std::min(rest.find_first_not_of("[{"), rest.size());
    const size_t room = static_cast<size_t>(max_yaml_depth) - frames_.size();
    if (std::max<size_t>(brackets, 1) > room)
      refuse(Code::yaml_unsupported, offset(mark) + room,
             fmt::format("lists and maps are nested more than {} deep", max_yaml_depth));
    if (expects_key())
      refuse(Code::yaml_unsupported, offset(mark),
             "a list or map cannot be a key; is its closing bracket missing?");
    Frame frame;
    frame.at = offset(mark);
    frame.node.kind = kind;
    frame.node.span = places_.span(offset(mark), 1);
    frames_.push_back(std::move(frame));
  }

  void close() {
    YamlNode node = std::move(frames_.back().node);
    frames_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (frames_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.is_list()) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.key_read) {
      read_key(frame, node);
    } else {
      frame.key_read = false;
      part_from_value(frame.key, node);
      auto [first, is_new] = frame.keys.try_emplace(frame.key.text, frame.node.entries.size());
      if (is_new)
        frame.node.entries.emplace_back(std::move(frame.key), std::move(node));
      else
        report_duplicate(frame, frame.node.entries[first->second], node);
    }
  }

  // `{d:8}` is a key `d:8` without a value. Reading goes on as if a blank stood after the colon.
  void part_from_value(YamlNode::Key& key, YamlNode& value) {
    const size_t colon = key.text.find(':');
    const bool absent =
        value.is_null() && value.span.line == key.span.line && value.span.column == key.span.column;
    if (!absent || colon == std::string::npos || colon + 1 == key.text.size())
      return;
    const std::string apart = key.text.substr(0, colon + 1) + " " + key.text.substr(colon + 1);
    diagnostics_.add(
        {Code::yaml_syntax,
         fmt::format("'{}' is a key without a value: a blank is missing after `:`", key.text),
         key.span,
         {},
         Help(fmt::format("write `{}`", apart), {{key.span, apart}})});
    value.kind = YamlNode::Kind::scalar;
    value.text = key.text.substr(colon + 1);
    key.text.resize(colon);
  }

  // Of two equal scalars on one line each, the second can go, with the comma before it.
  void report_duplicate(const Frame& frame, const YamlNode::Entry& first, const YamlNode& value) {
    const SourceSpan key = frame.key.span;
    Help help("keep one of the two");
    const bool equal = value.is_scalar() && first.second.is_scalar() &&
                       value.text == first.second.text && value.quoted == first.second.quoted;
    if (equal && value.span.line == key.line) {
      const std::string_view before = places_.before(frame.key_at);
      const size_t last = before.find_last_not_of(' ');
      const bool comma = last != std::string_view::npos && before[last] == ',';
      const int back = comma ? static_cast<int>(before.size() - last) : 0;
      const int begin = key.column - back, end = value.span.column + value.span.length;
      help =
          Help("the two are equal: delete one", {{{key.file, key.line, begin, end - begin}, ""}});
    }
    diagnostics_.add({Code::yaml_duplicate_key,
                      fmt::format("'{}' stands twice in this map", frame.key.text),
                      key,
                      {{first.first.span, "it is first given here"}},
                      std::move(help)});
  }

  void read_key(Frame& frame, const YamlNode& node) {
    const char* wrong = nullptr;
    if (!node.is_scalar())
      wrong = "a key is missing before this colon";
    else if (node.text == "<<" && !node.quoted)
      wrong = "merge keys (<<) are not used in specs; write them out, or use `extends:`";
    if (wrong != nullptr) {
      diagnostics_.add({Code::yaml_unsupported, wrong, node.span, {}, {}});
      throw Refused();
    }
    frame.key = {node.text, node.span};
    frame.key_at = scalar_at_;
    frame.key_read = true;
  }

  const Places& places_;
  Diagnostics& diagnostics_;
  std::vector<Frame> frames_;
  size_t scalar_at_ = 0;  // of the last scalar
  bool reads_environment_ = false;
};

// A tree, or why there is none; null and no reason after a diagnostic.
struct Attempt {
  YamlNode root;
  std::optional<Diagnostic> syntax;
};

Attempt attempt(const Places& places, Diagnostics& diagnostics) {
  std::istringstream in{std::string(places.text())};
  TreeBuilder tree(places, diagnostics);
  try {
    YAML::Parser parser(in);
    parser.HandleNextDocument(tree);
    YamlNode first = std::move(tree.root);
    tree.root = {};
    if (parser.HandleNextDocument(tree)) {
      diagnostics.add({Code::yaml_unsupported,
                       "a spec is one document; a second one starts here",
                       tree.root.span,
                       {},
                       "give it a file of its own"});
      return {};
    }
    return {tree.reads_environment() ? YamlNode() : first, {}};
  } catch (const Refused&) {
    return {};
  } catch (const YAML::Exception& e) {
    size_t at = e.mark.is_null() ? 0 : static_cast<size_t>(e.mark.pos);
    Diagnostic d = explain_syntax(places, at, e.msg);
    const std::vector<size_t> open = tree.open_brackets();
    if (e.msg.find("flow") != std::string::npos && d.help.text.empty() && !open.empty()) {
      const SourceSpan bracket = places.span(open.back(), 1);
      d.help = help_to_close(places, at, open);
      if (!d.help.edits.empty() && d.help.edits[0].where.line < d.where.line) {
        d.notes.emplace_back(d.where, d.message);
        d.message = "this bracket is never closed";
        d.where = bracket;
      } else {
        d.notes.emplace_back(bracket, "the bracket that is open was opened here");
      }
    }
    return {{}, std::move(d)};
  }
}

// Where one edit is certain to be meant, reading goes on as if it had been made, so that the
// mistakes behind it are found too.
YamlNode parse(const Sources& sources, int file, size_t offset, Diagnostics& diagnostics) {
  constexpr int most_edits = 8;
  std::string text = sources[file].text;
  if (text.size() > max_yaml_bytes) {
    diagnostics.add(
        {Code::yaml_unsupported,
         fmt::format("the text has {} bytes; a spec has at most {}", text.size(), max_yaml_bytes),
         {file, 1, 1, 1},
         {},
         {}});
    return {};
  }
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (std::string_view(text).substr(offset).starts_with(byte_order_mark))
    offset += byte_order_mark.size();
  if (!check_bytes(Places(file, text, offset), diagnostics))
    return {};
  std::vector<Made> made;
  for (int line = 0;;) {
    const Places places(file, text, offset, made);
    Attempt a = attempt(places, diagnostics);
    if (!a.syntax)
      return std::move(a.root);
    if (a.syntax->where.line <= line)  // the last edit was of no use
      return {};
    line = a.syntax->where.line;
    const std::vector<Edit> edits = a.syntax->help.edits;
    diagnostics.add(std::move(*a.syntax));
    if (edits.size() != 1 || made.size() == most_edits)
      return {};
    const auto [begin, bytes] = places.bytes_of(edits[0].where);
    text.replace(begin, bytes, edits[0].text);
    made.push_back({begin + edits[0].text.size(),
                    static_cast<int>(edits[0].text.size()) - edits[0].where.length});
  }
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& [k, value] : entries)
    if (k.text == key)
      return &value;
  return nullptr;
}

YamlNode* YamlNode::find(std::string_view key) {
  return const_cast<YamlNode*>(static_cast<const YamlNode*>(this)->find(key));
}

const YamlNode* YamlNode::at(std::string_view path) const {
  const YamlNode* node = this;
  while (node && !path.empty()) {
    const std::string_view first = path.substr(0, path.find('.'));
    node = node->find(first);
    path.remove_prefix(std::min(path.size(), first.size() + 1));
  }
  return node;
}

YamlNode parse_yaml(const Sources& sources, int file, Diagnostics& diagnostics) {
  Diagnostics found;
  YamlNode root = parse(sources, file, 0, found);
  if (found.has_errors() && !root.is_map())
    root = {};
  else if (!root.is_map()) {
    SourceSpan at = root.span.file < 0 ? SourceSpan{file, 1, 1, 1} : root.span;
    if (root.is_null())
      found.add({Code::yaml_syntax,
                 "the text is empty; a map of `key: value` lines was expected",
                 at,
                 {},
                 {}});
    else
      found.add(explain_no_map(Places(file, sources[file].text, 0), at));
    root = {};
  }
  for (const Diagnostic& d : found.all())
    diagnostics.add(d);
  return root;
}

YamlNode parse_yaml_value(const Sources& sources, int file, size_t offset,
                          Diagnostics& diagnostics) {
  return parse(sources, file, offset, diagnostics);
}

}  // namespace mtf
