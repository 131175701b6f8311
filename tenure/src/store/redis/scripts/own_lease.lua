-- The beginning of the scripts that change a lease only for its own tenure.
--
-- At maxmemory the server refuses scripts that may take memory, which would cost leaders their lead. The
-- script's first line exempts these: their writes replace values by others of the same length.
--
-- The last token of a record, the end of its lease, and whether that is the live lease of this tenure. A record that
-- can't be read has none of these, but a refusal: the records of other elections are not its fault.
local function own_lease(key, holder, token)
  local record = redis.pcall('HMGET', key, 'token', 'holder', 'lease_end', 'released')
  if record.err then return nil, {'refused', 'error', record.err} end
  local last, lease_end = 0, 0
  if record[1] or record[2] or record[3] then
    last, lease_end = whole(record[1]), whole(record[3])
    if not (last and lease_end) then return nil, {'refused', 'record'} end
  end
  local live = record[4] ~= '1' and now < lease_end
  return last, lease_end, live and record[2] == holder and last == tonumber(token)
end
