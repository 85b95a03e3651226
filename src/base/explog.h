/* Exponential and logarithm that give the same bits with every C library. */
#ifndef SKED_BASE_EXPLOG_H
#define SKED_BASE_EXPLOG_H

/*
 * Natural logarithm (x > 0, finite) and exponential (|x| <= 700) from exact operations only: the same bits
 * with every C library, which libm's own do not promise. Good to about 2 units in the last place.
 */
double sked_i_log(double x);
double sked_i_exp(double x);
#endif
