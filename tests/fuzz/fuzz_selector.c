/*
 * Any label selector. Whatever it is: what is said to be wrong lies inside the text; what is taken is taken again with
 * white space around it and beside itself, and anything that is refused is refused behind it too, at the same place of it.
 */
#include "base/mem.h"
#include "settings/selector.h"
#include "fuzz.h"

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(mem_free_ptr) char *text = mem_strndup((const char *)data, size);
    cleanup(mem_free_ptr) char *behind = mem_printf("a in (b) ,%s", text);
    cleanup(mem_free_ptr) char *around = mem_printf("\r\n%s\t ", text);
    struct selector_fault fault = {0}, again = {0};
    int rc = selector_check(text, &fault);
    check(selector_check(around, &again) == rc);
    if (rc != 0) {
        check(fault.why != NULL && fault.offset + fault.len <= strlen(text));
        check(again.offset >= fault.offset + 2 && again.len == fault.len);
    }
    if (is_blank(text))
        return 0;
    check(selector_check(behind, &again) == rc);
    if (rc != 0)
        check(again.offset == fault.offset + strlen("a in (b) ,") && again.len == fault.len);
    cleanup(mem_free_ptr) char *twice = mem_printf("%s,%s", text, text);
    if (rc == 0)
        check(selector_check(twice, &again) == 0);
    return 0;
}
