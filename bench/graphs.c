#include "graphs.h"

#include <string.h>

static const double least_parallelism = 1.05;

const char *random_family(int i)
{
    static const char *const families[RANDOM_FAMILIES] = {"erdos-renyi", "layered", "stochastic-block",
                                                          "watts-strogatz", "barabasi-albert"};
    return families[(i + i / RANDOM_FAMILIES) % RANDOM_FAMILIES];
}

sked_status random_graph_like(int i, const char *like, sked_graph **out, sked_error *err)
{
    const sked_generate_options how = {
        .size = sizeof how, .nodes = 50, .seed = 70000 + (uint64_t)(i / RANDOM_FAMILIES), .like = like};
    return sked_graph_generate(random_family(i), &how, out, err);
}

sked_status random_graph(int i, sked_graph **out, sked_error *err)
{
    return random_graph_like(i, NULL, out, err);
}

/* By folder and name; inputs for throughput that repeat one for latency are not listed. */
static const char *const real_graphs[] = {
    "onnx_light/light_squeezenet.onnx", /* the nearest to 78 ops that has parallel branches */
    "compgraphs_moccasin/MobileNet__MLSys__512__224__224__3__test_nx.json",
    "compgraphs_moccasin/ResNet50__MLSys__256__224__224__3__test_nx.json",
    "compgraphs_moccasin/VGG16__MLSys__256__224__224__3__test_nx.json",
    "compgraphs_moccasin/VGG19__MLSys__256__224__224__3__test_nx.json",
    "compgraphs_moccasin/fcn_8_vgg__MLSys__32__416__608__3__test_nx.json",
    "compgraphs_moccasin/segnet__MLSys__32__416__608__3__test_nx.json",
    "compgraphs_moccasin/vgg_unet__MLSys__32__416__608__3__test_nx.json",
    "dnn_partitioning/latency-inputs/LayerGraphs/bert24_inference.json",
    "dnn_partitioning/latency-inputs/LayerGraphs/inceptionv3_inference.json",
    "dnn_partitioning/latency-inputs/OperatorGraphs/bert_l-12_inference.json",
    "dnn_partitioning/latency-inputs/OperatorGraphs/bert_l-6_inference.json",
    "dnn_partitioning/throughput-inputs/LayerGraphs/gnmt_inference.json",
    "dnn_partitioning/throughput-inputs/LayerGraphs/resnet50_inference.json",
    "dnn_partitioning/throughput-inputs/OperatorGraphs/bert_L-12_training.json",
    "dnn_partitioning/throughput-inputs/OperatorGraphs/bert_l-3_inference.json",
    "dnn_partitioning/throughput-inputs/OperatorGraphs/resnet50_inference.json",
    "onnx_light/light_bvlc_alexnet.onnx",
    "onnx_light/light_inception_v1.onnx",
    "onnx_light/light_resnet50.onnx",
    "onnx_light/light_shufflenet.onnx",
};

int real_graph_count(void)
{
    return sizeof real_graphs / sizeof *real_graphs;
}

const char *real_graph_name(int i)
{
    return strrchr(real_graphs[i], '/') + 1;
}

sked_status real_graph(const arguments *a, int i, sked_graph **out, sked_error *err)
{
    char path[600];
    sked_graph_info info = {.size = sizeof info};
    sked_graph *g = NULL;
    sked_status st = sked_graph_read(data_path(a, real_graphs[i], path, sizeof path), NULL, &g, err);
    if (st == SKED_OK)
        st = sked_graph_describe(g, &info, err);
    if (st != SKED_OK) {
        sked_graph_destroy(g);
        return st;
    }
    const double parallelism = info.critical_path > 0 ? info.work / info.critical_path : 1;
    if (parallelism >= least_parallelism && info.ops <= MOST_REAL_OPS) {
        *out = g;
        return SKED_OK;
    }
    if (a->list)
        printf("%-26.26s left out: %d ops, work / critical path %.2f\n", real_graph_name(i), (int)info.ops,
               parallelism);
    sked_graph_destroy(g);
    return SKED_OK;
}

sked_status networks_read(const arguments *a, csv *out, sked_error *err)
{
    char path[600];
    return csv_read(data_path(a, "networks/networks.csv", path, sizeof path), out, err);
}

bool network_fits(const csv *list, int row)
{
    const double ops = csv_number(list, row, "ops"), parallelism = csv_number(list, row, "parallelism");
    return ops >= LEAST_NETWORK_OPS && ops <= MOST_NETWORK_OPS && parallelism >= least_parallelism;
}

const char *network_path(const arguments *a, const csv *list, int row, char *buf, size_t size)
{
    char part[200];
    snprintf(part, sizeof part, "networks/%s.json", csv_get(list, row, "name"));
    return data_path(a, part, buf, size);
}

sked_status network_graph(const arguments *a, const csv *list, int row, sked_graph **out, sked_error *err)
{
    char path[900];
    return sked_graph_read(network_path(a, list, row, path, sizeof path), NULL, out, err);
}
