-- Finds the text that is nearest to another, by common words: for plans that name a place which
-- does not exist any more.

local M = {}

local function words_of(text)
  local words = {}
  for word in text:gmatch("%S+") do
    words[word] = true
  end
  return words
end

-- The nearest of `texts`; nil if none has a common word.
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
