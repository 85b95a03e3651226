/* Numbers, names and widths as people read them in pictures. No locale: always a decimal point. */
#ifndef SKED_REPORT_LABEL_H
#define SKED_REPORT_LABEL_H
#include "base/text.h"

/* Copies pattern with every '~' replaced by the next argument, a double, as a coordinate. */
void sked_i_label_draw(sked_i_buffer *b, const char *pattern, ...);
/* Six significant digits or the nearest integer, whichever says more; integers below 2^53 in full. "-" for
 * NAN. Returns buf. */
const char *sked_i_label_number(double x, char *buf, size_t size);
/* A share 0..1 as percent with at most two decimals: "2.5 %". */
const char *sked_i_label_percent(double share, char *buf, size_t size);

/* Estimated width of UTF-8 text in a sans-serif face of this size, rather too wide than too narrow. */
double sked_i_label_width(const char *text, double font_size);
/*
 * The longest form of a name that fits `width`: all of it, or what follows its last '/'. NULL: neither
 * fits.
 */
const char *sked_i_label_fit(const char *name, double font_size, double width);
/* Copies at most max_chars characters, with an ellipsis where text was cut. Returns buf. */
const char *sked_i_label_cut(const char *text, int max_chars, char *buf, size_t size);
#endif
