/* What a complete search can answer. */
#ifndef SKED_ENGINE_CLAUSE_VERDICT_H
#define SKED_ENGINE_CLAUSE_VERDICT_H

typedef enum sked_i_verdict {
    SKED_I_FOUND,    /* a solution */
    SKED_I_REFUTED,  /* none exists */
    SKED_I_NARROW,   /* none exists under the assumptions */
    SKED_I_UNDECIDED /* conflicts or time used up, or no memory */
} sked_i_verdict;
#endif
