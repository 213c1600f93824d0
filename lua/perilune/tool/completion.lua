-- perilune completion bash|zsh|fish, made from the table of commands and flags. For names that only
-- a running host knows (controllers, kinds, keys), the shell calls `perilune completion keys
-- COMMAND [WORD...]`. It prints one candidate on each line, and nothing when no host answers.
-- `perilune completion man COMMAND` is in manual.lua.

local format = string.format

local ACTIONS = { list = true, requeue = true, drop = true }

-- ---- candidates of a running host ----

-- The candidates for the current word of `why` and `queue`, which depend on the words before it.
local function candidates(controllers, command, words)
  local out, seen = {}, {}
  local function add(word)
    if word and not seen[word] then
      seen[word] = true
      out[#out + 1] = word
    end
  end
  local function keys_of(fits)
    for _, one in ipairs(controllers) do
      if fits(one) then
        for _, key in ipairs(one.keys) do
          add(key)
        end
      end
    end
  end
  if command == "queue" then
    local at = ACTIONS[words[1]] and 2 or 1
    if #words < at then
      for _, one in ipairs(controllers) do
        add(one.controller)
      end
    else
      keys_of(function(one) return one.controller == words[at] end)
    end
  elseif #words == 0 then
    for _, one in ipairs(controllers) do
      add(one.controller)
      add(one.kind and one.kind:match("[^/]+$"))
      add(one.kind)
    end
  elseif #words == 1 then
    local asked = words[1]:lower()
    keys_of(function(one)
      local kind = (one.kind or ""):lower()
      return one.controller == words[1] or kind == asked or kind:match("[^/]+$") == asked
    end)
  end
  return out
end

local function print_candidates(tool, paths)
  local answer = tool.call("keys")
  if not answer then
    return 0
  end
  local words = {}
  for i = 3, #paths do
    words[#words + 1] = paths[i]
  end
  for _, word in ipairs(candidates(answer.controllers, paths[2], words)) do
    tool.say(word)
  end
  return 0
end

-- ---- completions of a flag's value ----

local FOLDERS = { DIR = true }
local FILES = { FILE = true, PATH = true }

local function flag_words(command)
  local out = {}
  for _, flag in ipairs(command.flags) do
    out[#out + 1] = "--" .. flag.name
    if flag.switch then
      out[#out + 1] = "--no-" .. flag.name
    end
    if flag.letter then
      out[#out + 1] = "-" .. flag.letter
    end
  end
  out[#out + 1] = "--help"
  return table.concat(out, " ")
end

-- Fixed words of a command's arguments.
local function argument_words(command)
  local arguments = command.arguments
  if command.words then
    return command.words
  elseif command.name == "completion" then
    return "bash zsh fish man"
  elseif command.name == "queue" then
    return "list requeue drop"
  end
  return arguments:match("^[%l|]+$") and arguments:gsub("|", " ") or ""
end

local function takes_files(command)
  return command.arguments:find("PATH", 1, true) or command.arguments:find("FILE", 1, true)
end

local function asks_host(command)
  return command.name == "why" or command.name == "queue" or command.name == "pause"
    or command.name == "resume"
end

local function names_of(commands)
  local out = {}
  for _, command in ipairs(commands) do
    out[#out + 1] = command.name
  end
  return table.concat(out, " ")
end

-- The commands of `perilune --help`, and `help COMMAND`.
local function with_help(commands)
  local out = { { name = "help", arguments = "", flags = {}, words = names_of(commands),
    summary = "list the flags of a command" } }
  for _, command in ipairs(commands) do
    out[#out + 1] = command
  end
  return out
end

-- ---- bash ----

local function bash_values(commands)
  local seen, out = {}, {}
  for _, command in ipairs(commands) do
    for _, flag in ipairs(command.flags) do
      if not flag.switch then
        local names = "--" .. flag.name .. (flag.letter and "|-" .. flag.letter or "")
        local does = flag.choices and format("_perilune_words %q", (flag.choices:gsub("|", " ")))
          or FOLDERS[flag.metavar] and "_perilune_files -d"
          or FILES[flag.metavar] and "_perilune_files -f" or "COMPREPLY=()"
        local key = command.name .. names
        if not seen[key] then
          seen[key] = true
          out[#out + 1] = format("    %s:%s) %s; return ;;", command.name,
            names:gsub("|", "|" .. command.name .. ":"), does)
        end
      end
    end
  end
  return table.concat(out, "\n")
end

local function bash_commands(commands)
  local out = {}
  for _, command in ipairs(commands) do
    local does = {}
    does[#does + 1] = format('flags="%s"', flag_words(command))
    local words = argument_words(command)
    if words ~= "" then
      does[#does + 1] = format('words="%s"', words)
    end
    if asks_host(command) then
      does[#does + 1] = "host=1"
    end
    if takes_files(command) then
      does[#does + 1] = "files=1"
    end
    out[#out + 1] = format("    %s) %s ;;", command.name, table.concat(does, "; "))
  end
  return table.concat(out, "\n")
end

local BASH = [=[
# bash completion for perilune: source <(perilune completion bash)
_perilune_words() {
  local IFS=$' \t\n'
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}
_perilune_files() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$cur"))
}
# What a running host knows; nothing when there is none.
_perilune_host() {
  local IFS=$'\n' at=() given=() i
  for ((i = 2; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      --pid|--admin-socket) at+=("${COMP_WORDS[i]}" "${COMP_WORDS[i+1]}"); ((i++)) ;;
      -o|--output) ((i++)) ;;
      -*) ;;
      *) given+=("${COMP_WORDS[i]}") ;;
    esac
  done
  local found
  found=$("${COMP_WORDS[0]}" completion keys "${at[@]}" "$command" "${given[@]}" 2>/dev/null)
  COMPREPLY+=($(compgen -W "$found" -- "$cur"))
}
_perilune() {
  local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
  local command="${COMP_WORDS[1]}" flags="" words="" host="" files=""
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _perilune_words "@NAMES@ --help --version"
    return
  fi
  case "$command:$before" in
@VALUES@
  esac
  case "$command" in
@COMMANDS@
    *) return ;;
  esac
  if [[ "$cur" == -* ]]; then
    _perilune_words "$flags"
    return
  fi
  [[ -n "$words" ]] && ((COMP_CWORD == 2)) && _perilune_words "$words"
  [[ -n "$host" ]] && _perilune_host
  [[ -n "$files" ]] && _perilune_files -f
  return 0
}
complete -F _perilune perilune]=]

-- ---- zsh ----

-- Escapes text in '...' for _arguments and _describe, which split it at colons and brackets.
local function zsh_text(text)
  return (text:gsub("'", "'\\''"):gsub("[%[%]:]", "\\%0"))
end

local function zsh_flag(flag)
  local value = ""
  if not flag.switch then
    local does = flag.choices and "(" .. flag.choices:gsub("|", " ") .. ")"
      or FOLDERS[flag.metavar] and "_files -/" or FILES[flag.metavar] and "_files" or " "
    value = format(":%s:%s", (flag.metavar or "VALUE"):lower(), does)
  end
  local star = flag.repeatable and "*" or ""
  local equal = flag.switch and "" or "="
  local out = { format("'%s--%s%s[%s]%s'", star, flag.name, equal, zsh_text(flag.help), value) }
  if flag.letter then
    out[2] = format("'%s-%s[%s]%s'", star, flag.letter, zsh_text(flag.help), value)
  end
  if flag.switch then
    out[#out + 1] = format("'--no-%s[not: %s]'", flag.name, zsh_text(flag.help))
  end
  return table.concat(out, " ")
end

local function zsh_commands(commands)
  local out = {}
  for _, command in ipairs(commands) do
    local all = {}
    for _, flag in ipairs(command.flags) do
      all[#all + 1] = zsh_flag(flag)
    end
    all[#all + 1] = "'--help[lists the flags]'"
    local words = argument_words(command)
    local rest = asks_host(command) and "_perilune_host"
      or words ~= "" and "(" .. words .. ")" or takes_files(command) and "_files" or nil
    if rest then
      all[#all + 1] = format("'*:argument:%s'", rest)
    end
    out[#out + 1] = format("    %s) _arguments -S %s ;;", command.name, table.concat(all, " "))
  end
  return table.concat(out, "\n")
end

local function zsh_names(commands)
  local out = {}
  for _, command in ipairs(commands) do
    out[#out + 1] = format("    '%s:%s'", command.name, zsh_text(command.summary))
  end
  return table.concat(out, "\n")
end

local ZSH = [=[
#compdef perilune
# zsh completion for perilune: source <(perilune completion zsh), or as _perilune in $fpath
_perilune_host() {
  local -a at given found
  local i
  for ((i = 2; i < CURRENT; i++)); do
    case "${words[i]}" in
      --pid|--admin-socket) at+=("${words[i]}" "${words[i+1]}"); ((i++)) ;;
      -o|--output) ((i++)) ;;
      -*) ;;
      *) given+=("${words[i]}") ;;
    esac
  done
  [[ "$command" == queue && ${#given} -eq 0 ]] && compadd list requeue drop
  found=("${(@f)$("$program" completion keys "${at[@]}" "$command" "${given[@]}" 2>/dev/null)}")
  compadd -a found
}
_perilune() {
  local program="${words[1]}" command
  local -a commands
  commands=(
@NAMES@
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  command="${words[2]}"
  words=("${words[1]}" "${words[@]:2}")
  ((CURRENT--))
  case "$command" in
@COMMANDS@
  esac
}
if [[ "${funcstack[1]}" == _perilune ]]; then
  _perilune "$@"
else
  compdef _perilune perilune
fi]=]

-- ---- fish ----

local function fish_text(text)
  return "'" .. text:gsub("[\\']", "\\%0") .. "'"
end

local function fish_flag(command, flag)
  local line = format("complete -c perilune -n '__fish_seen_subcommand_from %s' -l %s", command.name,
    flag.name)
  if flag.letter then
    line = line .. " -s " .. flag.letter
  end
  if not flag.switch then
    line = line .. (flag.choices and " -x -a " .. fish_text((flag.choices:gsub("|", " ")))
      or FOLDERS[flag.metavar] and " -x -a '(__fish_complete_directories)'"
      or FILES[flag.metavar] and " -r -F" or " -x")
  end
  return line .. " -d " .. fish_text(flag.help)
end

local FISH = [=[
# fish completion for perilune: perilune completion fish | source
function __perilune_host
  set -l words (commandline -opc)
  set -l command $words[2]
  set -l at
  set -l given
  set -l i 3
  while test $i -le (count $words)
    switch $words[$i]
      case --pid --admin-socket
        set -a at $words[$i] $words[(math $i + 1)]
        set i (math $i + 1)
      case -o --output
        set i (math $i + 1)
      case '-*'
      case '*'
        set -a given $words[$i]
    end
    set i (math $i + 1)
  end
  $words[1] completion keys $at $command $given 2>/dev/null
end
complete -c perilune -f]=]

local function fish(commands)
  local out = { FISH }
  for _, command in ipairs(commands) do
    out[#out + 1] = format("complete -c perilune -n __fish_use_subcommand -a %s -d %s", command.name,
      fish_text(command.summary))
  end
  for _, command in ipairs(commands) do
    local seen = format("complete -c perilune -n '__fish_seen_subcommand_from %s'", command.name)
    for _, flag in ipairs(command.flags) do
      out[#out + 1] = fish_flag(command, flag)
    end
    out[#out + 1] = seen .. " -l help -d 'lists the flags'"
    local words = argument_words(command)
    if words ~= "" then
      out[#out + 1] = seen .. " -a " .. fish_text(words)
    end
    if asks_host(command) then
      out[#out + 1] = seen .. " -a '(__perilune_host)'"
    end
    if takes_files(command) then
      out[#out + 1] = seen .. " -F"
    end
  end
  return table.concat(out, "\n")
end

local function fill(text, values)
  return (text:gsub("@(%u+)@", values))
end

local shells = {
  bash = function(commands)
    return fill(BASH, { NAMES = names_of(commands), VALUES = bash_values(commands),
      COMMANDS = bash_commands(commands) })
  end,
  zsh = function(commands)
    return fill(ZSH, { NAMES = zsh_names(commands), COMMANDS = zsh_commands(commands) })
  end,
  fish = fish,
}

local function print_page(tool, input, name)
  for _, command in ipairs(input.commands) do
    if command.name == name then
      tool.say(require("perilune.tool.manual")(command, tool.version))
      return 0
    end
  end
  tool.usage("%s; usage: perilune completion man COMMAND", name and format("there is no command %q", name)
    or "no command given")
end

return function(tool, input)
  local paths = input.paths
  if paths[1] == "man" then
    return print_page(tool, input, paths[2])
  end
  if paths[1] == "keys" then
    return print_candidates(tool, paths)
  end
  local shell = shells[paths[1]]
  if #paths ~= 1 or not shell then
    tool.usage("%s; usage: perilune completion bash|zsh|fish|man COMMAND", #paths == 0 and "no shell given"
      or #paths > 1 and format("it takes one shell, not %d words", #paths)
      or format("no completion for the shell %q", paths[1]))
  end
  tool.say(shell(with_help(input.commands)))
  return 0
end
