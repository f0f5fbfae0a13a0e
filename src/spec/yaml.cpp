// YAML text → YamlNode, over the events of yaml-cpp. What yaml-cpp lets pass although it means
// nothing in a spec (open quotes, duplicates, a second document, control characters, ...) is
// refused here, at its place.
#include "spec/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "base/unicode.h"

namespace mtf {
namespace {

struct Refused {};  // thrown through yaml-cpp after a diagnostic was added

// Byte offsets of one text → lines and columns. yaml-cpp counts columns in bytes, spans in code
// points; a table keeps this linear for a file that is one long line.
class Places {
 public:
  Places(int file, std::string_view text, size_t base) : file_(file), text_(text), base_(base) {
    line_.resize(text.size() + 1);
    column_.resize(text.size() + 1);
    int line = 1, column = 1;
    for (size_t i = 0; i <= text.size(); ++i) {
      line_[i] = line;
      column_[i] = column;
      if (i == text.size())
        break;
      bool starts_next = i + 1 == text.size() || !is_continuation_byte(text[i + 1]);
      if (text[i] == '\n') {
        ++line;
        column = 1;
      } else if (starts_next) {
        ++column;
      }
    }
  }

  // `at` counts from where yaml-cpp began to read.
  SourceSpan span(size_t at, size_t bytes) const {
    size_t begin = std::min(base_ + at, text_.size());
    size_t end = std::min(begin + bytes, text_.size());
    int length = line_[begin] == line_[end] ? column_[end] - column_[begin] : 1;
    return {file_, line_[begin], column_[begin], std::max(length, 1)};
  }
  std::string_view rest(size_t at) const {
    return text_.substr(std::min(base_ + at, text_.size()));
  }

 private:
  int file_;
  std::string_view text_;
  size_t base_;
  std::vector<int> line_, column_;
};

// Bytes of the quoted scalar at the start of `text`, both quotes included; 0 if it never closes.
size_t quoted_bytes(std::string_view text) {
  char quote = text[0];
  for (size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '\'' && i + 1 < text.size() && text[i + 1] == '\'')
        ++i;
      else
        return i + 1;
    }
  }
  return 0;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const Places& places, Diagnostics& diagnostics)
      : places_(places), diagnostics_(diagnostics) {}

  YamlNode root;

  // The list or map that was being read when parsing ended; null at the top.
  const YamlNode* innermost() const { return frames_.empty() ? nullptr : &frames_.back().node; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
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
  struct Frame {  // a list or map that is still open
    YamlNode node;
    YamlNode::Key key;  // of a map: the key whose value comes next
    bool key_read = false;
    std::unordered_map<std::string, SourceSpan> keys;
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
      refuse(Code::yaml_unsupported, offset(mark), "tags (!name) are not used in specs");
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
    if (expects_key())
      refuse(Code::yaml_unsupported, offset(mark),
             "a list or map cannot be a key; is its closing bracket missing?");
    if (frames_.size() >= static_cast<size_t>(max_yaml_depth))
      refuse(Code::yaml_unsupported, offset(mark),
             fmt::format("lists and maps are nested more than {} deep", max_yaml_depth));
    Frame frame;
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
      auto [first, is_new] = frame.keys.try_emplace(frame.key.text, frame.key.span);
      if (is_new)
        frame.node.entries.emplace_back(std::move(frame.key), std::move(node));
      else
        diagnostics_.add({Code::yaml_duplicate_key,
                          fmt::format("'{}' stands twice in this map", frame.key.text),
                          frame.key.span,
                          {{first->second, "it is first given here"}},
                          "keep one of the two"});
    }
  }

  void read_key(Frame& frame, const YamlNode& node) {
    const char* wrong = nullptr;
    if (!node.is_scalar())
      wrong = "a key is missing before this colon";
    else if (node.text == "<<" && !node.quoted)
      wrong = "merge keys (<<) are not used in specs";
    if (wrong != nullptr) {
      diagnostics_.add({Code::yaml_unsupported, wrong, node.span, {}, {}});
      throw Refused();
    }
    frame.key = {node.text, node.span};
    frame.key_read = true;
  }

  const Places& places_;
  Diagnostics& diagnostics_;
  std::vector<Frame> frames_;
};

// What yaml-cpp says, with what would be right.
std::string syntax_message(const std::string& said) {
  if (said.find("end of map flow") != std::string::npos)
    return "expected `,` or `}` here";
  if (said.find("end of sequence flow") != std::string::npos)
    return "expected `,` or `]` here";
  if (said.find("illegal flow end") != std::string::npos)
    return "this bracket does not close the one that is open";
  if (said.find("EOF in scalar") != std::string::npos)
    return "the text ends inside a quote that is never closed";
  if (said.find("illegal map value") != std::string::npos)
    return "a `key: value` cannot start here; quote text that holds `: `";
  if (said.find("end of map") != std::string::npos)
    return "expected another `key: value`, indented like the keys before it";
  if (said.find("end of sequence") != std::string::npos)
    return "expected another `- item`, indented like the items before it";
  return "not YAML: " + said;
}

// Checks on bytes, before yaml-cpp sees them. Returns false after a diagnostic.
bool check_bytes(const Places& places, std::string_view text, Diagnostics& diagnostics) {
  size_t at = 0;
  auto refuse = [&](std::string message) {
    diagnostics.add({Code::yaml_syntax, std::move(message), places.span(at, 1), {}, {}});
    return false;
  };
  while (at < text.size()) {
    CodePoint c = decode_utf8(text.substr(at));
    if (c.bytes == 0)
      return refuse("the text is not UTF-8 here");
    if (c.value == '\r' && (at + 1 == text.size() || text[at + 1] != '\n'))
      return refuse("a carriage return without a line feed; end lines with LF or CR LF");
    bool control = c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0 && c.value != 0x85);
    if (control && c.value != '\t' && c.value != '\n' && c.value != '\r')
      return refuse(fmt::format("a control character (U+{:04X}) cannot stand in a spec",
                                static_cast<unsigned>(c.value)));
    at += c.bytes;
  }
  return true;
}

YamlNode parse(const Sources& sources, int file, size_t offset, Diagnostics& diagnostics) {
  std::string_view text = sources[file].text;
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
  if (text.substr(offset).starts_with(byte_order_mark))
    offset += byte_order_mark.size();
  Places places(file, text, offset);
  if (!check_bytes(places, text.substr(offset), diagnostics))
    return {};

  std::istringstream in{std::string(text.substr(offset))};
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
                       {}});
      return {};
    }
    return first;
  } catch (const Refused&) {
    return {};
  } catch (const YAML::Exception& e) {
    size_t at = e.mark.is_null() ? 0 : static_cast<size_t>(e.mark.pos);
    Diagnostic d{Code::yaml_syntax, syntax_message(e.msg), places.span(at, 1), {}, {}};
    if (e.msg.find("flow") != std::string::npos && tree.innermost() != nullptr)
      d.notes.emplace_back(tree.innermost()->span, "the bracket that is open was opened here");
    diagnostics.add(std::move(d));
    return {};
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

YamlNode parse_yaml(const Sources& sources, int file, Diagnostics& diagnostics) {
  Diagnostics found;
  YamlNode root = parse(sources, file, 0, found);
  if (!root.is_map() && !found.has_errors()) {
    SourceSpan at = root.span.file < 0 ? SourceSpan{file, 1, 1, 1} : root.span;
    found.add({Code::yaml_syntax,
               root.is_null() ? "the text is empty; a map of `key: value` lines was expected"
                              : "expected a map of `key: value` lines (mind the space after `:`)",
               at,
               {},
               {}});
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
