// The scripts: they hand the words to `mtf __complete`, whose lines are `word<tab>summary`, or
// `:files<tab>pattern` where files fit. They ask the executable that was typed, so that a build
// folder's own is asked too.
#include "report/completion.h"

namespace mtf {
namespace {

constexpr std::string_view bash_script = R"(# bash completion of mtf: source <(mtf completion bash)
_mtf() {
  local line=${COMP_LINE:0:COMP_POINT} words word summary
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local cur=${words[-1]}
  words=("${words[@]/#\~\//$HOME/}")
  COMPREPLY=()
  while IFS=$'\t' read -r word summary; do
    if [[ $word == :files ]]; then
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X "!$summary" -- "$cur"; compgen -d -- "$cur")
      compopt -o filenames 2>/dev/null
    else
      COMPREPLY+=("$word")
    fi
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null </dev/null)
  [[ ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace 2>/dev/null
  if [[ $cur == *=* && $COMP_WORDBREAKS == *=* ]]; then  # bash has what is left of the = already
    COMPREPLY=("${COMPREPLY[@]#"${cur%=*}="}")
  fi
}
complete -F _mtf mtf
)";

constexpr std::string_view zsh_script = R"(#compdef mtf
# zsh completion of mtf: mtf completion zsh >"${fpath[1]}/_mtf"
_mtf() {
  local -a line=("${(@Q)words[1,CURRENT-1]}" "$PREFIX") whole begun
  local word summary
  while IFS=$'\t' read -r word summary; do
    case $word in
    :files) _files -g "$summary" ;;
    *[=.]) begun+=("$word${summary:+:${summary//:/\\:}}") ;;
    *) whole+=("$word${summary:+:${summary//:/\\:}}") ;;
    esac
  done < <("${line[1]/#\~\//$HOME/}" __complete "${(@)line[2,-1]/#\~\//$HOME/}" 2>/dev/null </dev/null)
  (($#whole)) && _describe word whole
  (($#begun)) && _describe key begun -S ''
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _mtf "$@"; else compdef _mtf mtf; fi
)";

constexpr std::string_view fish_script =
    R"(# fish completion of mtf: mtf completion fish >~/.config/fish/completions/mtf.fish
function __mtf_complete
    set -l line (string replace -r '^~/' "$HOME/" -- (commandline -opc))
    set -l current (commandline -ct)
    $line[1] __complete $line[2..] "$current" 2>/dev/null </dev/null | while read -l -d \t word summary
        if test "$word" = :files
            __fish_complete_suffix (string replace '*' '' -- $summary)
        else
            printf '%s\t%s\n' $word $summary
        end
    end
end
complete -c mtf -f -a '(__mtf_complete)'
)";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  return shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script;
}

}  // namespace mtf
