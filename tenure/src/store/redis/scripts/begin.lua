-- The beginning of the scripts that read a record.
--
-- All times are microseconds, written with '%.0f', which is exact below 2^53. The server's clock is the least value of
-- new tokens, and a hint: no decision rests on it. Beyond 2^52 it is no clock, and counts as 0.
local function number(value) return string.format('%.0f', value) end
-- A record has whole numbers, below 2^53 too; any other value, also 'nan', is damage. Long texts are not searched, and not
-- sent.
local function whole(text)
  local value = text and #text <= 16 and string.match(text, '^%d+$') and tonumber(text)
  return value and value < 9007199254740992 and value
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > 4503599627370496 then now = 0 end

-- The record of an election; false if there is none, nil and a refusal if it can't be read, with the place of a field that
-- does not hold what it should.
local function record_of(key)
  local r = redis.pcall('HMGET', key, 'token', 'holder', 'number', 'released', 'ttl', 'quarantine', 'asked', 'defer',
    'wanted', 'reserved_for', 'reserve', 'written')
  if r.err then return nil, {'refused', 'error', r.err} end
  if not (r[1] or r[2] or r[3]) then return false end
  for place = 1, 12 do
    if r[place] and #r[place] > 32 then return nil, {'refused', 'record', key, place} end
  end
  r.token, r.holder, r.number, r.released = whole(r[1]), r[2], whole(r[3]), r[4] == '1'
  r.ttl, r.quarantine = whole(r[5]), whole(r[6])
  local bad = not r.token and 1 or not r.holder and 2 or not r.number and 3 or not (r.released or r[4] == '0') and 4
    or not r.ttl and 5 or not r.quarantine and 6
  if not bad then return r end
  -- Records of the versions before 1 had the end of the lease.
  local older = redis.call('HMGET', key, 'lease_end')[1]
  if older then return nil, {'refused', 'older', key} end
  return nil, {'refused', 'record', key, bad}
end
