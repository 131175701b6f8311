-- The first request over a connection compares the server with the past; later ones cost less.
if first ~= '' and first ~= '-' then
  local refusal = examine(first, false)
  if refusal then return refusal end
end
