-- Renew: one lease or many, each judged alone. A renewal writes a new mark, unless a later one has.
--
-- KEYS  the elections' records, and then the past
-- ARGV  for each of them: 1 holder   2 token   3 number   4 watched stamp, or ''   5 for how long, us
--       and then: the connection's number
--
-- A leader renews all the time, so no more is read than must be.
local written = number(now)
local answers = {}
-- The usual answer, one word: the client would read and allocate each further one, at each renewal.
local nothing_new = {'renewed'}
for place = 1, (#ARGV - 1) / 5 do
  local key, a = KEYS[place], 5 * place - 5
  local id, stamp = ARGV[a + 3], ARGV[a + 4]
  local r = redis.pcall('HMGET', key, 'token', 'holder', 'number', 'released', 'quarantine', 'asked', 'wanted')
  local last, quarantine = whole(r[3]), whole(r[5])
  if not (r[1] == ARGV[a + 2] and r[2] == ARGV[a + 1] and r[4] == '0' and last and quarantine) then
    local record, refusal = record_of(key)
    answers[place] = refusal or {'superseded', record and record.token or purged()}
  else
    local asked, wanted, defer = r[6] or '', r[7] or '', '0'
    if asked ~= '' then defer = redis.call('HMGET', key, 'defer')[1] or '' end
    if tonumber(id) > last then
      redis.call('HSET', key, 'number', id, 'written', written)
      if asked ~= '' then redis.call('HSET', key, 'asked', '', 'defer', '0') end
      if stamp ~= '' then note_watch(stamp, tonumber(ARGV[a + 5])) end
    end
    if unwatched(quarantine) then
      answers[place] = {'renewed', asked, defer, wanted, past.stamp, past.longest}
    elseif asked ~= '' or wanted ~= '' then
      answers[place] = {'renewed', asked, defer, wanted, '', 0}
    else
      answers[place] = nothing_new
    end
  end
end
return answers
