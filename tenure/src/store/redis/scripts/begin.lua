-- The beginning of the scripts that read a record.
--
-- All times are microseconds of the server's clock since 1970, written with '%.0f', which is exact below 2^53.
local function number(value) return string.format('%.0f', value) end
-- A record has whole numbers, below 2^53 too; any other value, also 'nan', is damage. Long texts are not searched.
local function whole(text)
  local value = text and #text <= 16 and string.match(text, '^%d+$') and tonumber(text)
  return value and value < 9007199254740992 and value
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
