/* Attributes that only tests/test_attributes.c has: included before all else in the code that it is linked
 * with. */
#ifndef SKED_TESTS_MORE_ATTRIBUTES_H
#define SKED_TESTS_MORE_ATTRIBUTES_H
#define SKED_I_MORE_OP_ATTRIBUTES(X)                                  \
    X(amount3, AMOUNT, 3, USED, "an amount, 3 where nothing is said") \
    X(real, REAL, NAN, USED, "any number, or none")                   \
    X(count, COUNT, 0, ALWAYS, "a whole number")                      \
    X(fifteen_letters, FLAG, 0, USED, "the longest name")
#define SKED_I_MORE_EDGE_ATTRIBUTES(X)                      \
    X(thickness, AMOUNT, 1, ALWAYS, "an amount of an edge") \
    X(slack, REAL, -2, USED, "any number of an edge")       \
    X(repeats, COUNT, 7, USED, "a whole number of an edge") \
    X(mark, FLAG, 0, USED, "a flag of an edge")
#endif
