/*
 * The keywords of `server` and `default-server` lines that a Data Plane API v3 may know (3.0 to 3.4; HAProxy 2.4 to
 * 3.2 and a few of 3.3), with the name and form of the field that shows each.
 */
#pragma once

#include <stdbool.h>

enum cfg_form {
    RAWCFG_ON,   /* a word alone; shown as "enabled" */
    RAWCFG_OFF,  /* a word alone; shown as "disabled" */
    RAWCFG_TRUE, /* a word alone; shown as true */
    RAWCFG_TEXT, /* all others take one argument */
    RAWCFG_NUMBER,
    RAWCFG_NUMBER_NOT_0, /* as RAWCFG_NUMBER, but 0 is not shown */
    RAWCFG_TIME,         /* shown in milliseconds */
    RAWCFG_LIST,         /* commas; shown as an array */
    RAWCFG_TLV,          /* NAME(ID) VALUE; shown as {"id","value"} */
    RAWCFG_SOURCE,       /* several words that are shown as one text */
    RAWCFG_CALL,         /* VALUE(SIZE); shown as VALUE, the size elsewhere */
};

struct cfg_keyword {
    const char *name, *key;
    enum cfg_form form;
};

bool cfg_keyword_takes_argument(const struct cfg_keyword *k);

/* NULL: not known. */
const struct cfg_keyword *cfg_keyword_find(const char *word);
/* The one whose field of that name shows what it says: RAWCFG_OFF for "disabled", any other form otherwise. NULL: not known. */
const struct cfg_keyword *cfg_keyword_of_field(const char *key, bool off);
