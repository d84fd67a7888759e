#include "haproxy/dataplane/codec_json.h"

#include "base/str.h"

int codec_get_switch(yyjson_val *obj, const char *key, bool *ret, struct error *err)
{
    const char *s;
    if (json_get_string(obj, key, &s, err) != 0)
        return -1;
    if (!str_eq(s, "enabled") && !str_eq(s, "disabled") && s[0] != '\0')
        return error_set(err, ERROR_INVALID, "%s is \"%s\", not \"enabled\" or \"disabled\"", key, s);
    *ret = str_eq(s, "enabled");
    return 0;
}
