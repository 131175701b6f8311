-- Purge: deletes those of these records that were written longer ago than the age, by the server's clock, and were given
-- back or watched by the purger for the longer of TTL and quarantine. Of the others that old, it answers with the mark,
-- and how long that is to be watched, us.
--
-- KEYS  the elections' records, and then the past
-- ARGV  for each of them: the watched mark, or ''
--       and then: 1 age, us   2 the connection's number
--
-- At maxmemory it writes one short value into the past, and frees more. The past keeps the highest token that was deleted.
local age = tonumber(ARGV[#ARGV - 1])
local highest = purged()
local answers = {}
for place = 1, #KEYS - 1 do
  local record = record_of(KEYS[place])
  answers[place] = {'kept'}
  -- Damaged records, and values that are no records, are kept.
  if record and past.stamp and now - (whole(record[12]) or now) > age then
    local mark = record.holder .. ':' .. record[3]
    if record.released or mark == ARGV[place] then
      if record.token > highest then
        highest = record.token
        redis.call('HSET', KEYS[#KEYS], 'purged', number(highest))
      end
      redis.call('DEL', KEYS[place])
      answers[place] = {'purged'}
    else
      answers[place] = {'watch', mark, math.max(record.ttl, record.quarantine)}
    end
  end
end
return answers
