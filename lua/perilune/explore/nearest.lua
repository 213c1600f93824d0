-- The text that is nearest to another, by the words that both have: for plans that name what is not
-- there any more.

local M = {}

local function words_of(text)
  local words = {}
  for word in text:gmatch("%S+") do
    words[word] = true
  end
  return words
end

-- The nearest of `texts`; nil where none has a word in common.
function M.of(text, texts)
  local words, best, best_score = words_of(text), nil, 0
  for _, candidate in ipairs(texts) do
    local score = 0
    for word in pairs(words_of(candidate)) do
      score = score + (words[word] and 1 or 0)
    end
    if score > best_score then
      best, best_score = candidate, score
    end
  end
  return best
end

return M
