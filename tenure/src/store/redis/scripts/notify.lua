-- Notify: sends a message to the tenure that holds the lease, if one does.
--
-- KEYS  1 the election's record
-- ARGV  1 the channel of the election's messages   2 the message
local record, refusal = record_of(KEYS[1])
if refusal then return refusal end
if not record or record.released then return {'vacant'} end
-- The token in front names the tenure that the message is for, even if it is late.
redis.call('PUBLISH', ARGV[1], record[1] .. ' ' .. ARGV[2])
return {'notified', record.token}
