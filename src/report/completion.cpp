#include "report/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "spec/language.h"

namespace mtf {
namespace {

// In single quotes of a shell. fish escapes within them, the others cannot.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (char c : text)
    out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out + "'";
}

std::string words_of(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> names_of(const std::vector<OptionWords>& options) {
  std::vector<std::string> names;
  for (const OptionWords& o : options)
    names.push_back(o.name);
  return names;
}

constexpr std::string_view bash_script = R"(# bash completion of mtf: source <(mtf completion bash)
_mtf_overrides='@OVERRIDES@'
_mtf() {
  local line=${COMP_LINE:0:COMP_POINT} list='' options='' files='' words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local cur=${words[-1]}
  if ((${#words[@]} <= 2)); then
    list='@COMMANDS@'
  else
    case "${words[1]} ${words[-2]}" in
    *' --set') list=$_mtf_overrides ;;
@CASES@    esac
    [[ $cur == -* ]] && list=$options files=''
  fi
  mapfile -t COMPREPLY < <(compgen -W "$list" -- "$cur")
  if [[ -n $files ]]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X "!$files" -- "$cur"; compgen -d -- "$cur")
    compopt -o filenames 2>/dev/null
  fi
  [[ ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace 2>/dev/null
  if [[ $cur == *=* && $COMP_WORDBREAKS == *=* ]]; then  # bash has what is left of the = already
    COMPREPLY=("${COMPREPLY[@]#"${cur%%=*}="}")
  fi
}
complete -F _mtf mtf
)";

constexpr std::string_view zsh_script = R"(#compdef mtf
# zsh completion of mtf: mtf completion zsh >"${fpath[1]}/_mtf"
_mtf() {
  local -a overrides=(@OVERRIDES@)
  local -a commands=(
@COMMANDS@  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local -a options
  case "$words[2] $words[CURRENT-1]" in
  *' --set') compadd -S '' -a overrides; return ;;
@CASES@  esac
  [[ $PREFIX == -* ]] && _describe option options
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _mtf "$@"; else compdef _mtf mtf; fi
)";

std::string filled(std::string_view script, std::string_view commands, std::string_view overrides,
                   std::string_view cases) {
  std::string out(script);
  for (auto [mark, text] : {std::pair<std::string_view, std::string_view>{"@COMMANDS@", commands},
                            {"@OVERRIDES@", overrides},
                            {"@CASES@", cases}})
    out.replace(out.find(mark), mark.size(), text);
  return out;
}

std::string for_bash(std::span<const CommandWords> commands) {
  std::vector<std::string> names = {"--help", "--version"};
  std::string cases;
  for (const CommandWords& c : commands) {
    names.push_back(c.name);
    for (const OptionWords& o : c.options)
      if (o.takes_value && o.name != "--set")
        cases += fmt::format("    '{} {}') {} ;;\n", c.name, o.name,
                             o.values.empty() ? "files='*'" : "list='" + words_of(o.values) + "'");
    cases += fmt::format("    '{} '*) list='{}' options='{}' files='{}' ;;\n", c.name,
                         words_of(c.arguments), words_of(names_of(c.options)),
                         c.takes_files ? "*.yaml" : "");
  }
  return filled(bash_script, words_of(names), words_of(override_words()), cases);
}

std::string for_zsh(std::span<const CommandWords> commands) {
  // `word:summary`, in which a colon is escaped.
  auto described = [](const std::string& word, const std::string& summary) {
    std::string text;
    for (char c : summary)
      text += c == ':' ? "\\:" : std::string(1, c);
    return quoted(word + ":" + text, "'\\''");
  };
  std::string names, cases;
  for (const CommandWords& c : commands) {
    names += "    " + described(c.name, c.summary) + "\n";
    for (const OptionWords& o : c.options)
      if (o.takes_value && o.name != "--set")
        cases += fmt::format("  '{} {}') {}; return ;;\n", c.name, o.name,
                             o.values.empty() ? "_files" : "compadd " + words_of(o.values));
    std::string options;
    for (const OptionWords& o : c.options)
      options += " " + described(o.name, o.summary);
    cases += fmt::format("  '{} '*) options=({} ){}{} ;;\n", c.name, options,
                         c.takes_files ? "; _files -g '*.yaml'" : "",
                         c.arguments.empty() ? "" : "; compadd " + words_of(c.arguments));
  }
  return filled(zsh_script, names, words_of(override_words()), cases);
}

std::string for_fish(std::span<const CommandWords> commands) {
  std::string out =
      "# fish completion of mtf: mtf completion fish >~/.config/fish/completions/mtf.fish\n"
      "complete -c mtf -f\n"
      "complete -c mtf -n __fish_use_subcommand -l version\n";
  for (const CommandWords& c : commands) {
    const std::string behind = "complete -c mtf -n '__fish_seen_subcommand_from " + c.name + "'";
    out += fmt::format("complete -c mtf -n __fish_use_subcommand -a {} -d {}\n", c.name,
                       quoted(c.summary, "\\'"));
    if (c.takes_files)
      out += behind + " -a '(__fish_complete_suffix .yaml)'\n";
    if (!c.arguments.empty())
      out += behind + " -a '" + words_of(c.arguments) + "'\n";
    for (const OptionWords& o : c.options) {
      const std::vector<std::string> values = o.name == "--set" ? override_words() : o.values;
      std::string value = !o.takes_value   ? ""
                          : values.empty() ? " -r -F"
                                           : " -x -a '" + words_of(values) + "'";
      out += fmt::format("{} -l {} -d {}{}\n", behind, o.name.substr(2), quoted(o.summary, "\\'"),
                         value);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> override_words() {
  std::vector<std::string> out;
  for_each_key([&](const std::string& path, const KeyRow& row) {
    // Below names that only the user knows, such as dims.DIM.size, nothing can be offered.
    const bool open =
        std::any_of(path.begin(), path.end(), [](unsigned char c) { return std::isupper(c); });
    if (open || row.name == "extends" || row.form == Form::keys || row.form == Form::model)
      return;
    if (row.words.empty())
      out.push_back(path + "=");
    for (std::string_view word : row.words)
      out.push_back(fmt::format("{}={}", path, word));
    if (has_user_keys(row.form))
      out.push_back(path + ".");
  });
  return out;
}

std::string completion_script(std::string_view shell, std::span<const CommandWords> commands) {
  return shell == "bash"  ? for_bash(commands)
         : shell == "zsh" ? for_zsh(commands)
                          : for_fish(commands);
}

}  // namespace mtf
