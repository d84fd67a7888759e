-- Every second visitor sees the new basket.
core.register_action("variant", { "http-req" }, function(txn)
    local ip = txn.sf:src() or ""
    txn.http:req_set_header("X-Variant", #ip % 2 == 0 and "a" or "b")
end)
