-- Look, or ask: shows elections, each judged alone, and tells the leader of a tenure who would like to lead.
--
-- KEYS  the elections' records, and then the past
-- ARGV  for each of them: 1 quarantine, us; '' to be told nothing of the past   2 the tenure's token, or '' for a look
--       3 name's digest   4 for how long the candidate lets others go first, us
--       and then: the connection's number
local function look(key, quarantine, token, name, defer)
  local record, refusal = record_of(key)
  if refusal then return refusal end
  if record and record[1] == token and not record.released then
    local asked, wanted = record[7], record[9]
    -- One who is wished for stays.
    if asked == '' or wanted ~= 'any' and wanted ~= asked then
      record[7], record[8] = name, defer
      redis.call('HSET', key, 'asked', name, 'defer', defer)
    end
  end
  return show('at', key, record, tonumber(quarantine))
end

local answers = {}
for place = 1, #KEYS - 1 do
  local ok, answer = pcall(look, KEYS[place], unpack(ARGV, 4 * place - 3, 4 * place))
  answers[place] = ok and answer or {'refused', 'error', answer}
end
return answers
