/* The tables as Markdown and as lines of JSON, ours and the published figures, and where gflownet loses. */
#include "paper.h"

static const struct column {
    const char *field, *name;
    bool judged;
} columns[] = {
#define X(field, name, judged) {#field, name, judged},
    PAPER_COLUMN_LIST(X)
#undef X
};

#define NONE (double)NAN
#define NO_DEVIATION                                   \
    {                                                  \
        NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE \
    }
const paper_published paper_published1[PAPER_PUBLISHED] = {
    {"list", {3.23, NONE, 2.75, 1.02, 1.74, 0, 0, 0}, NO_DEVIATION},
    {"brkga",
     {3.22, NONE, 2.86, 1.29, 1.80, 55.92, 22.83, 56.21},
     {NONE, NONE, .15, .45, .34, NONE, NONE, NONE}},
    {"ppo",
     {3.28, NONE, 3.07, 1.38, 1.87, 85.08, 31.71, 105.64},
     {NONE, NONE, .09, .49, .38, NONE, NONE, NONE}},
    {"gflownet",
     {3.21, NONE, 3.05, 1.78, 2.11, 94.79, 42.08, 115.98},
     {NONE, NONE, .04, .03, .03, NONE, NONE, NONE}},
};
const paper_published paper_published2[PAPER_PUBLISHED] = {
    {"list", {3.44, 3.44, NONE, NONE, NONE, 0, 0, 0}, NO_DEVIATION},
    {"brkga", {3.46, 3.45, NONE, NONE, NONE, 46.59, 12.75, 40.11}, NO_DEVIATION},
    {"ppo", {3.48, 3.46, NONE, NONE, NONE, 69.54, 13.45, 80.84}, NO_DEVIATION},
    {"gflownet", {3.46, 3.41, NONE, NONE, NONE, 92.02, 24.27, 90.17}, NO_DEVIATION},
};
const paper_published paper_published3[PAPER_PUBLISHED] = {
    {"list", {2.74, 2.74, 2.51, 0.89, 1.43, 0, 0, 0}, NO_DEVIATION},
    {"brkga",
     {2.59, 2.58, 2.46, 1.55, 1.80, 52.32, 17.14, 42.64},
     {.18, .18, .16, .17, .18, 21.59, NONE, NONE}},
    {"ppo", {2.41, 2.23, 2.28, 0.91, 1.43, 53.05, 42.70, 64.92}, {.20, .27, .26, .20, .10, 7.27, NONE, NONE}},
    {"gflownet",
     {2.71, 2.66, 2.71, 1.73, 1.95, 87.95, 26.56, 91.33},
     {.03, .01, .01, .01, .03, .13, NONE, NONE}},
};

/* Mean over the seeds, and the standard deviation of one of them, of figures that are means over graphs. */
double paper_over_seeds(const paper_cell *c, int column, int graphs, int seeds, double *deviation)
{
    double mean = 0, square = 0;
    for (int s = 0; s < seeds; s++)
        mean += c->seed[s].figure[column] / graphs / seeds;
    for (int s = 0; s < seeds; s++)
        square += pow(c->seed[s].figure[column] / graphs - mean, 2);
    *deviation = seeds > 1 ? sqrt(square / (seeds - 1)) : 0;
    return mean;
}

static int digits_of(int column)
{
    return column < PAPER_ged ? 3 : 2;
}

static double mean_of(const paper_cell *c, bool seconds, int graphs, int seeds)
{
    double mean = 0;
    for (int s = 0; s < seeds; s++)
        mean += (seconds ? c->seed[s].seconds : c->seed[s].candidates) / graphs / seeds;
    return mean;
}

/* Fewest and most updates of the models behind a row; 0: it has none. */
static void updates_of(const paper_run *r, const paper_table *t, int method, int64_t *least, int64_t *most)
{
    const int k = paper_methods[method].learner;
    *least = *most = k < 0 ? paper_row_updates(r, t, method) : t->trained[k][0];
    for (int s = 1; k >= 0 && s < t->seeds[k]; s++) {
        *least = t->trained[k][s] < *least ? t->trained[k][s] : *least;
        *most = t->trained[k][s] > *most ? t->trained[k][s] : *most;
    }
}

static void print_updates(const paper_run *r, const paper_table *t, int method)
{
    int64_t least, most;
    updates_of(r, t, method, &least, &most);
    if (most == 0)
        printf(" - |");
    else if (least == most)
        printf(" %lld |", (long long)most);
    else
        printf(" %lld to %lld |", (long long)least, (long long)most);
}

static void print_cell(const paper_run *r, const paper_table *t, const paper_cell *c, int method, int stage,
                       int graphs)
{
    const int seeds = paper_row_seeds(r, t, method);
    printf("| %s", paper_methods[method].label);
    if (seeds < r->seeds)
        printf(" (%d seed%s)", seeds, seeds == 1 ? "" : "s");
    printf(" | %s |", paper_stages[stage].name);
    print_updates(r, t, method);
    for (int k = 0; k < PAPER_COLUMNS; k++) {
        double deviation;
        const double mean = paper_over_seeds(c, k, graphs, seeds, &deviation);
        printf(" %.*f", digits_of(k), mean);
        if (seeds > 1)
            printf(" ± %.*f", digits_of(k), deviation);
        printf(" |");
    }
    printf(" %.0f | %.2f |\n", mean_of(c, false, graphs, seeds), mean_of(c, true, graphs, seeds));
}

void paper_print_cells(const paper_run *r, const paper_table *t, paper_cell (*cells)[PAPER_STAGES],
                       int graphs)
{
    for (int k = 0; k < PAPER_METHODS; k++)
        for (int g = 0; g < PAPER_STAGES && paper_takes_part(r, t, k); g++)
            print_cell(r, t, &cells[k][g], k, g, graphs);
    fflush(stdout);
}

void paper_print_header(void)
{
    printf("| method | stages | updates |");
    for (int k = 0; k < PAPER_COLUMNS; k++)
        printf(" %s |", columns[k].name);
    printf(" kept | seconds |\n|---|---|---|");
    for (int k = 0; k < PAPER_COLUMNS + 2; k++)
        printf("---|");
    printf("\n");
}

void paper_print_published(const paper_table *t)
{
    for (int k = 0; t->published != NULL && k < PAPER_PUBLISHED; k++) {
        const paper_published *p = &t->published[k];
        printf("| %s | in the paper | |", p->method);
        for (int c = 0; c < PAPER_COLUMNS; c++)
            if (isnan(p->figure[c]))
                printf(" - |");
            else if (isnan(p->deviation[c]))
                printf(" %.2f |", p->figure[c]);
            else
                printf(" %.2f ± %.2f |", p->figure[c], p->deviation[c]);
        printf(" | |\n");
    }
    fflush(stdout);
}

/* ---------------------------------------------------------------- verdicts */

static double mean_over_seeds(const paper_run *r, const paper_table *t, int method, int stage, int column,
                              double *deviation)
{
    return paper_over_seeds(&t->sum[method][stage], column, t->graphs, paper_row_seeds(r, t, method),
                            deviation);
}

/* The best of the others in a column. */
static int best_other(const paper_run *r, const paper_table *t, int stage, int column)
{
    int best = PAPER_LIST;
    double most = -INFINITY;
    for (int k = 0; k < PAPER_METHODS; k++) {
        double deviation;
        const double mean = mean_over_seeds(r, t, k, stage, column, &deviation);
        if (paper_is_gflownet(k) || !paper_takes_part(r, t, k) || mean <= most)
            continue;
        most = mean;
        best = k;
    }
    return best;
}

static int print_below(const paper_run *r, const paper_table *t, int ours, int stage, int column)
{
    double deviation[2];
    const int other = best_other(r, t, stage, column);
    const double a = mean_over_seeds(r, t, ours, stage, column, &deviation[0]);
    const double b = mean_over_seeds(r, t, other, stage, column, &deviation[1]);
    if (a >= b - 5e-4) /* what the table would show as equal */
        return 0;
    printf("- %s, %s, %s: %.3f, %s %.3f (%+.1f %%%s)\n", paper_methods[ours].label, paper_stages[stage].name,
           columns[column].name, a, paper_methods[other].label, b, 100 * (a / b - 1),
           b - a <= hypot(deviation[0], deviation[1]) ? ", within one deviation" : "");
    return 1;
}

static bool has_rows(const paper_run *r, const paper_table *t, bool gflownet)
{
    for (int k = 0; k < PAPER_METHODS; k++)
        if (paper_is_gflownet(k) == gflownet && paper_takes_part(r, t, k))
            return true;
    return false;
}

void paper_print_verdicts(const paper_run *r, const paper_table *t)
{
    int below = 0;
    if (!has_rows(r, t, true) || !has_rows(r, t, false))
        return;
    printf("\nWhere a gflownet row is below the best of the others with the same stages:\n\n");
    for (int g = 0; g < PAPER_METHODS; g++)
        for (int s = 0; s < PAPER_STAGES && paper_is_gflownet(g) && paper_takes_part(r, t, g); s++)
            for (int c = 0; c < PAPER_COLUMNS; c++)
                below += columns[c].judged && print_below(r, t, g, s, c);
    if (below == 0)
        printf("- nowhere: top 1 and all three targets\n");
}

/* ---------------------------------------------------------------- records */

void paper_record(paper_run *r, const char *kind)
{
    json_open(&r->json, NULL, '{');
    json_text(&r->json, "kind", kind);
}

void paper_record_numbers(paper_run *r, const char *key, const double *x, int n)
{
    json_open(&r->json, key, '[');
    for (int i = 0; i < n; i++)
        json_number(&r->json, NULL, x[i]);
    json_close(&r->json, ']');
}

void paper_record_end(paper_run *r)
{
    json_close(&r->json, '}');
    fflush(r->json.file);
}

static void record_figure(paper_run *r, int column, double value, double deviation)
{
    char key[40];
    snprintf(key, sizeof key, "%s_deviation", columns[column].field);
    json_number(&r->json, columns[column].field, value);
    json_number(&r->json, key, deviation);
}

static void record_cell(paper_run *r, const paper_table *t, int method, int stage)
{
    const paper_cell *c = &t->sum[method][stage];
    const int seeds = paper_row_seeds(r, t, method);
    paper_record(r, "row");
    json_text(&r->json, "table", t->name);
    json_text(&r->json, "method", paper_methods[method].label);
    json_text(&r->json, "stages", paper_stages[stage].name);
    json_number(&r->json, "graphs", t->graphs);
    json_number(&r->json, "seeds", seeds);
    int64_t least, most;
    updates_of(r, t, method, &least, &most);
    json_number(&r->json, "updates", most == 0 ? NAN : (double)least);
    for (int k = 0; k < PAPER_COLUMNS; k++) {
        double deviation;
        const double mean = paper_over_seeds(c, k, t->graphs, seeds, &deviation);
        record_figure(r, k, mean, deviation);
    }
    json_number(&r->json, "kept", mean_of(c, false, t->graphs, seeds));
    json_number(&r->json, "seconds", mean_of(c, true, t->graphs, seeds));
    paper_record_end(r);
}

void paper_record_table(paper_run *r, const paper_table *t)
{
    if (r->json.file == NULL)
        return;
    for (int k = 0; k < PAPER_METHODS; k++)
        for (int g = 0; g < PAPER_STAGES && paper_takes_part(r, t, k); g++)
            record_cell(r, t, k, g);
    for (int k = 0; t->published != NULL && k < PAPER_PUBLISHED; k++) {
        paper_record(r, "published");
        json_text(&r->json, "table", t->name);
        json_text(&r->json, "method", t->published[k].method);
        for (int c = 0; c < PAPER_COLUMNS; c++)
            record_figure(r, c, t->published[k].figure[c], t->published[k].deviation[c]);
        paper_record_end(r);
    }
}
