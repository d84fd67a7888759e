#include "decode_text.h"

#define POD(rest) "{'metadata':{'name':'a','namespace':'lb','resourceVersion':'5','uid':'u'}," rest "}"
#define STATUS(rest) POD("'status':{" rest "}")
#define GOT(what) "ADDED lb/a v5 pod u" what
#define SKIPPED(why) "ADDED lb/a v5 SKIPPED (pod lb/a is skipped: " why ")"

TEST(pods)
{
    static const struct text_row rows[] = {
        /* where it is and whether it runs */
        {STATUS("'phase':'Running','podIP':'10.0.0.7','podIPs':[{'ip':'10.0.0.7'},{'ip':'fd00::7'}]"),
         GOT(" 10.0.0.7 running")},
        {STATUS("'phase':'Running','podIP':'fd00::7'"), GOT(" fd00::7 running")},
        {STATUS("'phase':'Running','podIP':'10.0.0.7','conditions':[{'type':'Ready','status':'False'}]"),
         GOT(" 10.0.0.7 running")},
        {STATUS("'phase':'Pending','podIP':'10.0.0.7'"), GOT(" 10.0.0.7")},
        {STATUS("'phase':'Running'"), GOT(" running")},
        {STATUS(""), GOT("")},
        {"{'metadata':{'name':'a','namespace':'lb','resourceVersion':'5','uid':'u','deletionTimestamp':'2026-01-01T00:"
         "00:00Z'},"
         "'status':{'phase':'Running','podIP':'10.0.0.7'}}",
         GOT(" 10.0.0.7 running terminating")},
        /* what is no pod */
        {STATUS("'phase':'Running','podIP':'0.0.0.0'"),
         SKIPPED("status: podIP 0.0.0.0 is the unspecified address, not that of a machine")},
        {STATUS("'podIP':7"), SKIPPED("status: podIP is a number, not a string")},
        {STATUS("'phase':['Running']"), SKIPPED("status: phase is an array, not a string")},
        {POD("'status':[]"), SKIPPED("status is an array, not an object")},
        {"{'metadata':{'name':'a','namespace':'lb','resourceVersion':'5'},'status':{}}",
         SKIPPED("metadata.uid is absent")},
    };
    text_check_rows(&kube_pods, true, rows, array_len(rows));
}
