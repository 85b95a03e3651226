/*
 * Colours of op types and devices: the "light" qualitative scheme of Paul Tol's colour notes, made so
 * that all pairs differ for colour-blind readers and dark text stays readable on every one.
 */
#ifndef SKED_REPORT_PALETTE_H
#define SKED_REPORT_PALETTE_H
#include "report/view.h"

/* Hex digits without '#', of a colour 0 .. SKED_I_COLORS - 1. */
const char *sked_i_palette_hex(int color);
/* Ops on the critical chain: on a light and on a dark page. */
#define SKED_I_CRITICAL_LIGHT "c2185b"
#define SKED_I_CRITICAL_DARK  "f0267a"
/* A colour for any number of devices: the palette first, then evenly spread hues. Returns buf, "#rrggbb". */
const char *sked_i_palette_device(int32_t device, char buf[8]);
#endif
