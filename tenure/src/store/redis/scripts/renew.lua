-- Renew: one lease or many, each by the same reading of the clock, and each judged alone.
--
-- KEYS  the elections' records
-- ARGV  for each of them: 1 holder   2 token   3 ttl, us
local answers = {}
for place, key in ipairs(KEYS) do
  local before = 3 * (place - 1)
  answers[place] = renew(key, ARGV[before + 1], ARGV[before + 2], tonumber(ARGV[before + 3]))
end
return answers
