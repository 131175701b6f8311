-- Notify: sends a message to the tenure that holds the lease, if one does.
--
-- KEYS  1 the election's record
-- ARGV  1 the channel of the election's messages   2 the message
local record = redis.call('HMGET', KEYS[1], 'token', 'holder', 'lease_end', 'released')
if not (record[1] or record[2] or record[3]) then return {'vacant'} end
local last, lease_end = whole(record[1]), whole(record[3])
if not (last and lease_end and record[2]) then return {'refused', 'record'} end
if record[4] == '1' or now >= lease_end then return {'vacant'} end
-- The token in front names the tenure that the message is for, even if it is late.
redis.call('PUBLISH', ARGV[1], record[1] .. ' ' .. ARGV[2])
return {'notified', last}
