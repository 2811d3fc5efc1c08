# What zsh offers for a line, one a line. Arguments: a folder, a completion script, the line.
# The line is typed at a zsh of its own, whose compadd writes down what it gets.
zmodload zsh/zpty || exit 3
cd "$1" || exit 1
offers=$(mktemp)
zpty shell zsh -f -i
zpty -w shell "PS1= PS2= RPS1=; offers=${(q)offers}; autoload -Uz compinit; compinit -D -u; source ${(q)2}"
# Calls of compadd that only compute matches are those of the completion system itself.
zpty -w shell 'compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
  local -a offered
  builtin compadd -A offered "$@"
  print -rl -- $offered >>$offers
  builtin compadd "$@"
}'
# The words are in parts, so that the echo of the line is not taken for its output.
zpty -w shell "offer() { zle complete-word; print DO''NE }; zle -N offer; bindkey '^I' offer; print REA''DY"
while zpty -r shell line; do [[ $line == *READY* ]] && break; done
zpty -n -w shell "$3"$'\t'
while zpty -r shell line; do [[ $line == *DONE* ]] && break; done
zpty -d shell
cat "$offers"
rm -f "$offers"
