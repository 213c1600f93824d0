-- The manual page of one command, made from the table of commands and flags. --help and completion
-- use the same table, so the three cannot differ. `perilune completion man COMMAND` prints it.
-- Packages install one for each command beside perilune(1), which is written by hand.

local format = string.format

-- Escapes text for roff: a dot or quote at the beginning of a line is not a request, and a dash is
-- a minus sign.
local function roff(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

local function flag_lines(flag)
  local value = not flag.switch and (flag.choices and roff(flag.choices) or roff(flag.metavar or "VALUE"))
  local head = format("\\fB%s\\-\\-%s\\fR%s", flag.letter and format("\\-%s\\fR, \\fB", flag.letter) or "",
    roff(flag.name), value and (flag.choices and " " .. value or format(" \\fI%s\\fR", value)) or "")
  if flag.switch and flag.default == "true" then
    head = head .. format(", \\fB\\-\\-no\\-%s\\fR", roff(flag.name))
  end
  local rest = flag.repeatable and "; may be given more than once" or ""
  local default = flag.default and flag.default ~= "" and not flag.switch and not flag.help:find("default", 1, true)
    and format(" (default %s)", flag.default) or ""
  if flag.switch and flag.default == "true" then
    default = " (on unless it is turned off)"
  end
  return { ".TP", head, roff(flag.help .. rest .. default) }
end

-- The page of a command as text, without the last line break.
return function(command, version)
  local out = {
    format('.TH PERILUNE\\-%s 1 "" "perilune %s" "User Commands"', command.name:upper(), roff(version)),
    ".SH NAME",
    format("perilune\\-%s \\- %s", command.name, roff(command.summary)),
    ".SH SYNOPSIS",
    format(".B perilune %s", command.name),
    ".RI [ FLAGS ]",
  }
  if command.arguments and command.arguments ~= "" then
    out[#out + 1] = roff(command.arguments)
  end
  if #command.flags > 0 then
    out[#out + 1] = ".SH FLAGS"
    for _, flag in ipairs(command.flags) do
      for _, line in ipairs(flag_lines(flag)) do
        out[#out + 1] = line
      end
    end
    out[#out + 1] = ".SH ENVIRONMENT"
    out[#out + 1] = ".B PERILUNE_NAME"
    out[#out + 1] = "gives the flag of that name, in capitals and with _ for \\-. The command line goes before it."
  end
  out[#out + 1] = ".SH SEE ALSO"
  out[#out + 1] = ".BR perilune (1)"
  return table.concat(out, "\n")
end
