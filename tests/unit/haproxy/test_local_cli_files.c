/* src/haproxy/local/cli_files: answers of HAProxy 2.6 and 3.4 about maps and certificates, and what is none. */
#include "haproxy/local/cli_files.h"

#include "haproxy/map_text.h"
#include "net/pem.h"

#include "../test.h"

static const struct {
    enum cli_list list;
    const char *answer, *names; /* names NULL: it is none */
} lists[] = {
    {CLI_MAPS,
     "# id (file) description\n0 (/m/a.map) pattern loaded from file '/m/a.map' used by map at file 'h.cfg' line 10. "
     "curr_ver=0 next_ver=0 entry_cnt=0\n-1 (maps/b.map) pattern loaded from file 'maps/b.map' used by map at file "
     "'h.cfg' line 11, by acl at file 'h.cfg' line 12. curr_ver=3 next_ver=4 entry_cnt=2\n\n",
     "/m/a.map maps/b.map "},
    {CLI_MAPS, "# id (file) description\n\n", ""},
    {CLI_ACLS,
     "# id (file) description\n15 () acl 'var' file 'httpclient' line 0. curr_ver=0 next_ver=0 entry_cnt=1\n"
     "16 (/m/a.map) pattern loaded from file '/m/a.map' used by acl at file 'h.cfg' line 9. curr_ver=0 next_ver=0 "
     "entry_cnt=2\n\n",
     "/m/a.map "},
    {CLI_CERTIFICATES, "# transaction\n*/c/x.pem\n# filename\n/c/x.pem\n/c/y.pem\n\n", "/c/x.pem /c/y.pem "},
    {CLI_CERTIFICATES, "# filename\n\n", ""},
    {CLI_CA_FILES, "# filename\n@system-ca - 145 certificate(s)\n/c/ca - b.pem - 2 certificate(s)\n\n",
     "@system-ca /c/ca "},
    {CLI_CRL_FILES, "# filename\n/c/crl.pem\n\n", "/c/crl.pem "},
    {CLI_CERTIFICATES, "\n", ""},
    {CLI_CA_FILES, "\n", ""},
    {CLI_CRL_FILES, "\n", ""},
    {CLI_CRL_FILES, "", NULL},
    {CLI_ACLS, "\n", NULL},
    {CLI_MAPS, "", NULL},
    {CLI_MAPS, "\n", NULL},
    {CLI_MAPS, "Unknown command: 'show map', but maybe one of the following ones is a better match:\n", NULL},
    {CLI_MAPS, "# filename\n/c/x.pem\n\n", NULL},
    {CLI_CERTIFICATES, "# id (file) description\n\n", NULL},
    {CLI_CERTIFICATES, "Can't show!\nOperations on certificates are currently locked!\n", NULL},
    {CLI_CERTIFICATES, "# transaction\n*/c/x.pem\n", NULL},
};

TEST_EACH(names, sizeof(lists) / sizeof(lists[0]))
{
    cleanup(cli_names_fini) struct cli_names n = {0};
    cleanup(buf_fini) struct buf text = {0};
    int status = cli_names_init(&n, lists[_i].list, lists[_i].answer, &flaw);
    ck_assert_int_eq(status, lists[_i].names != NULL ? 0 : -1);
    for (size_t i = 0; i < n.count; i++)
        buf_printf(&text, "%s ", n.list[i]);
    ck_assert(status != 0 || strcmp(buf_str(&text), lists[_i].names) == 0);
    ck_assert(status == 0 || strstr(flaw.message, "HAProxy says: ") != NULL);
}

static const struct {
    const char *answer;
    int status;
    unsigned version;
} versions[] = {
    {"New version created: 1\n\n", 0, 1},
    {"New version created: 4294967295\n\n", 0, 4294967295},
    {"\nNew version created: 7\n", 0, 7},
    {"New version created: 4294967296\n\n", -1, 0},
    {"Old version created: 1\n\n", -1, 0},
    {"New version created: \n\n", -1, 0},
    {"New version created: 1x\n\n", -1, 0},
    {"Unknown map identifier. Please use #<id> or <file>.\n\n", -1, 0},
    {"\n", -1, 0},
    {"", -1, 0},
};

TEST_EACH(version_of_a_map, sizeof(versions) / sizeof(versions[0]))
{
    unsigned n = 0;
    ck_assert_int_eq(cli_read_version(versions[_i].answer, &n, &flaw), versions[_i].status);
    ck_assert_uint_eq(n, versions[_i].version);
}

static const struct {
    const char *answer, *file; /* file NULL: it is none */
} maps[] = {
    {"\n", ""},
    {"0x562f779f67e0 a 1\n0x562f779f6830 b 2\n\n", "a 1\nb 2\n"},
    {"0x562f779f8380 a \n0x562f779f8410 b \n\n", "a\nb \n"},
    {"0x562f779f6ee0 # 1\n0x562f779f6f70 #b 2\n\n", " # 1\n #b 2\n"},
    {"0x562f779f8f40 a one two  three\n\n", "a one two  three \n"},
    {"0x562f779f9b00 a\v1 \f2\n\n", "a\v1 \f2\n"},
    {"0x562f779f9b00 a\t\n\n", "a\n"},
    {"Unknown map identifier. Please use #<id> or <file>.\n\n", NULL},
    {"0x562f779f67e0\n\n", NULL},
    {"0x562f779f67e0 a 1\nwhat\n", NULL},
};

TEST_EACH(what_a_map_has, sizeof(maps) / sizeof(maps[0]))
{
    cleanup(map_entries_fini) struct map_entries runs = {0}, wanted = {0};
    bool good = maps[_i].file != NULL;
    ck_assert_int_eq(cli_read_map(maps[_i].answer, &runs, &flaw), good ? 0 : -1);
    map_entries_read(&wanted, good ? maps[_i].file : "");
    ck_assert(!good || map_entries_same(&runs, &wanted));
}

TEST(how_a_certificate_was_set)
{
    ck_assert_int_eq(cli_read_certificate_set("Transaction created for certificate /c/x.pem!\n\n", &flaw), 0);
    ck_assert_int_eq(cli_read_certificate_set("Transaction updated for certificate /c/x.pem!\n\n", &flaw), 0);
    ck_assert_int_eq(cli_read_certificate_set("unable to load certificate from file.\nCan't update x!\n\n", &flaw), -1);
    ck_assert_str_eq(flaw.message, "HAProxy says: unable to load certificate from file.");
    ck_assert_int_eq(cli_read_certificate_set("\n", &flaw), -1);
    ck_assert_int_eq(cli_read_certificate_committed("Committing /c/x.pem.\nSuccess!\n\n", &flaw), 0);
    ck_assert_int_eq(cli_read_certificate_committed("Committing /c/x.pem...\na warning\nSuccess!\n\n", &flaw), 0);
    ck_assert_int_eq(cli_read_certificate_committed("Committing /c/x.pem.\nout of memory\nFailed!\n\n", &flaw), -1);
    ck_assert_int_eq(cli_read_certificate_committed("Committing /c/x.pem.", &flaw), -1);
    ck_assert_int_eq(cli_read_certificate_committed("Committing /c/Success!.pem.", &flaw), -1);
}

static const struct {
    const char *answer, *sha1;
    unsigned certificates; /* 0: it is none */
} certificates[] = {
    {"Filename: /c/x.pem\nStatus: Used\nSerial: 44\nSHA1 FingerPrint: 20967BFEAD8DFD9650F3927741C78E0D26AEF50B\n"
     "Subject: /CN=two\nIssuer: /CN=two\nChain Subject: /CN=one\nChain Issuer: /CN=one\nChain Subject: /CN=zero\n\n",
     "20967BFEAD8DFD9650F3927741C78E0D26AEF50B", 3},
    {"SHA1 FingerPrint: 20967BFEAD8DFD9650F3927741C78E0D26AEF50B\n", "20967BFEAD8DFD9650F3927741C78E0D26AEF50B", 1},
    {"Chain Subject: /CN=0\nSHA1 FingerPrint: AB\n\n", "AB", 1},
    {"Filename: /c/x.pem\nStatus: Unused\n\n", NULL, 0},
    {"Can't display the certificate: Not found or the certificate is a bundle!\n\n", NULL, 0},
    {"", NULL, 0},
};

TEST_EACH(what_a_certificate_is, sizeof(certificates) / sizeof(certificates[0]))
{
    struct pem_identity c = {.certificates = 0};
    bool good = certificates[_i].certificates > 0;
    ck_assert_int_eq(cli_read_certificate(certificates[_i].answer, &c, &flaw), good ? 0 : -1);
    ck_assert_uint_eq(c.certificates, certificates[_i].certificates);
    ck_assert(!good || strcmp(c.sha1, certificates[_i].sha1) == 0);
}
