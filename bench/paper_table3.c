/*
 * Table 3: networks with measured durations, split by family: none of a family is in both parts. Models train
 * on random connected subgraphs of the one part, and draw for the whole graphs of the other.
 */
#include "paper.h"

#include <string.h>

/* Networks of one family share an architecture or most of their blocks. The only list. */
typedef struct family {
    const char *name;
    bool test;
    const char *members[10];
} family;
static const family families[] = {
    {"recurrent", false, {"lstm_stack_6x32", "mdlstm_12x12", "deepspeech2_t24", "train_lstm_3x16"}},
    {"transformer",
     false,
     {"clip_vit_small", "coat_tiny", "evoformer_4", "gptj_small", "multimodal_3enc", "pipeline_4mb_8layers",
      "train_gpipe_4mb_8", "train_gpt_6", "transformer_tp4_6"}},
    {"mixture of experts", false, {"moe_expert_choice_16x6", "moe_mixtral_8x6", "train_moe_8x4"}},
    {"mobile", false, {"mixnet_l", "mixnet_xl", "mobileone_s0", "train_mobilenetv3"}},
    {"hrnet", false, {"hrnet_w18", "hrnet_w18_small_v2", "hrnet_w32"}},
    {"searched cells", false, {"darts_v2_cifar", "nasnet_a_6at1056", "randwire_ba", "randwire_ws"}},
    {"residual", false, {"ensemble_5resnet10", "retinanet_r18", "train_densenet"}},
    {"recommender", true, {"dlrm_26", "ffm_pairs_16", "train_dlrm"}},
    {"graph network", true, {"gat_8heads", "rgcn_12rel"}},
    {"hifigan", true, {"hifigan_discriminators", "hifigan_generator"}},
    {"unet", true, {"unetpp", "train_unetpp"}},
    {"inception", true, {"inception_v3"}},
    {"openpose", true, {"openpose"}},
    {"wavenet", true, {"wavenet_30"}},
    {"perceptron", true, {"train_mlp_8"}},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

enum { MOST_TEST_OPS = 600, USUAL_TEST_OPS = 250 };

static const family *family_of(const char *network)
{
    for (int f = 0; f < N_FAMILIES; f++)
        for (int k = 0; families[f].members[k] != NULL; k++)
            if (strcmp(families[f].members[k], network) == 0)
                return &families[f];
    return NULL;
}

/* A network that the list does not know could belong to a family of either part. */
static sked_status check_families(const csv *list, sked_error *err)
{
    for (int i = 1; i < list->rows; i++)
        if (family_of(csv_get(list, i, "name")) == NULL)
            return fail(err, SKED_ERR_UNSUPPORTED,
                        "networks.csv, row %d: this network is in no family of table 3", i + 1);
    return SKED_OK;
}

/* The files of the training part, and the sharpness of a subgraph of 43 ops, the middle of 25 to 75. */
static sked_status list_training(const paper_run *r, const csv *list, char *spec, size_t size,
                                 double *sharpness, sked_error *err)
{
    enum { MIDDLE = 43 };
    sked_status st = SKED_OK;
    size_t used = 0;
    int count = 0;
    for (int i = 1; st == SKED_OK && i < list->rows; i++) {
        char path[600];
        sked_graph *g = NULL;
        double own = 0;
        if (family_of(csv_get(list, i, "name"))->test)
            continue;
        network_path(r->a, list, i, path, sizeof path);
        st = network_graph(r->a, list, i, &g, err);
        if (st == SKED_OK)
            st = paper_sharpness(g, &own, err);
        *sharpness += own * (g != NULL ? sked_graph_op_count(g) : 0) / MIDDLE;
        sked_graph_destroy(g);
        const int length = snprintf(spec + used, size - used, "%s%s", count++ > 0 ? "," : "", path);
        if (length < 0 || (size_t)length >= size - used)
            return fail(err, SKED_ERR_ARGUMENT, "the path of --data is too long");
        used += (size_t)length;
    }
    *sharpness /= count > 0 ? count : 1;
    return st;
}

static sked_status run_tests(paper_run *r, paper_table *t, const csv *list, sked_error *err)
{
    sked_status st = SKED_OK;
    const int most = r->full ? MOST_TEST_OPS : USUAL_TEST_OPS;
    for (int i = 1, taken = 0; st == SKED_OK && i < list->rows && !stop_requested; i++) {
        const char *name = csv_get(list, i, "name");
        sked_graph *g = NULL;
        paper_progress(t, i - 1, list->rows - 1);
        if (!family_of(name)->test || csv_number(list, i, "ops") > most || paper_skipped(r, taken++))
            continue;
        st = network_graph(r->a, list, i, &g, err);
        if (st == SKED_OK)
            st = paper_graph(r, g, name, t, err);
        sked_graph_destroy(g);
    }
    return st;
}

sked_status paper_table3(paper_run *r, paper_table *t, sked_error *err)
{
    static char spec[64 * 600];
    csv list = {0};
    paper_training how = {.name = "table3", .graphs = spec, .setting = "largest=75", .updates = {600, 10000}};
    if (!have_data(r->a))
        return SKED_OK;
    sked_status st = networks_read(r->a, &list, err);
    if (st == SKED_OK)
        st = check_families(&list, err);
    if (st == SKED_OK)
        st = list_training(r, &list, spec, sizeof spec, &how.sharpness, err);
    if (st == SKED_OK)
        st = paper_table_learn(r, t, &how, err);
    if (st == SKED_OK && r->train != PAPER_TRAIN_ONLY)
        st = run_tests(r, t, &list, err);
    csv_free(&list);
    return st;
}

/* Set "networks": all of 100 to 600 ops, with the built-in model. */
sked_status paper_networks(paper_run *r, paper_table *t, sked_error *err)
{
    csv list = {0};
    if (!have_data(r->a))
        return SKED_OK;
    sked_status st = networks_read(r->a, &list, err);
    for (int i = 1, taken = 0; st == SKED_OK && i < list.rows && !stop_requested; i++) {
        sked_graph *g = NULL;
        paper_progress(t, i - 1, list.rows - 1);
        if (!network_fits(&list, i) || paper_skipped(r, taken++))
            continue;
        st = network_graph(r->a, &list, i, &g, err);
        if (st == SKED_OK)
            st = paper_graph(r, g, csv_get(&list, i, "name"), t, err);
        sked_graph_destroy(g);
    }
    csv_free(&list);
    return st;
}
