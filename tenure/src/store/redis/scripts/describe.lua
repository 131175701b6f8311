-- Describe: replaces the name and the metadata of exactly this tenure, unless the same or a newer version of them is
-- recorded. The version is kept beside its tenure's token: that of an earlier tenure does not count.
--
-- It may take memory, so at maxmemory the server refuses it.
--
-- KEYS  1 the election's record
-- ARGV  1 holder   2 token   3 version   4 name   5 metadata
local record = redis.call('HMGET', KEYS[1], 'token', 'holder', 'described_token', 'described_version')
local token, version = ARGV[2], ARGV[3]
if record[1] ~= token or record[2] ~= ARGV[1] then return {'not_held'} end
local last = record[3] == token and tonumber(record[4]) or 0
if tonumber(version) > last then
  redis.call('HSET', KEYS[1], 'name', ARGV[4], 'metadata', ARGV[5], 'described_token', token,
    'described_version', version)
end
return {'described'}
