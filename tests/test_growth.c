/*
 * Twice the input, at most two and a half times the work: every reader on files of a quarter of a megabyte
 * and of one, made to be as bad as they can be. The readers come from the tables: one without a case here
 * fails.
 */
#define _DEFAULT_SOURCE
#include "../fuzz/parsers.h"
#include "engine/gaus/gaus_relaxation.h"
#include "growth.h"
#include "test.h"

/* In patterns: the number of the repetition, plus one and two; how many there are, plus one and two. */
#define I    "\1"
#define NEXT "\2"
#define I2   "\3"
#define N    "\4"
#define N1   "\5"
#define N2   "\6"

/* Texts at odd places are repeated; a comma that begins one is left out behind an opening bracket or quote.
 */
enum { most_parts = 9 };
typedef struct pattern {
    const char *reader, *what;
    const char *part[most_parts];
} pattern;

#define FIFTY  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define TEN(x) x x x x x x x x x x

static const pattern patterns[] = {
    {"native",
     "ops",
     {"{\"format\":\"sked-graph-1\",\"ops\":[", ",{\"name\":\"o" I "\",\"duration\":1}", "],\"edges\":[]}"}},
    {"native",
     "names with one long beginning",
     {"{\"format\":\"sked-graph-1\",\"ops\":[", ",{\"name\":\"" TEN(FIFTY) I "\",\"duration\":1}",
      "],\"edges\":[]}"}},
    {"native",
     "edges into one op",
     {"{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"z\",\"duration\":1}",
      ",\n{\"name\":\"o" I "\",\"duration\":1}", "],\"edges\":[", ",[\"o" I "\",\"z\"]", "]}"}},
    {"native",
     "edges by carried distance",
     {"{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"z\",\"duration\":1}",
      ",\n{\"name\":\"o" I "\",\"duration\":1}", "],\"edges\":[",
      ",{\"from\":\"o" I "\",\"to\":" I ",\"distance\":1}", "]}"}},
    {"native",
     "parallel edges",
     {"{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"a\",\"duration\":1},{\"name\":\"b\",\"duration\":1}]"
      ",\"edges\":[",
      ",[0,1]", "]}"}},
    {"native",
     "one long cycle",
     {"{\"format\":\"sked-graph-1\",\"ops\":[{\"duration\":1}", ",\n{\"duration\":1}", "],\"edges\":[",
      ",[" I "," NEXT "]", ",[" N ",0]]}"}},
    {"native",
     "demands of one op",
     {"{\"format\":\"sked-graph-1\",\"resources\":[", ",{\"name\":\"r" I "\",\"capacity\":1}",
      "],\"ops\":[{\"name\":\"a\",\"duration\":1,\"demand\":{", ",\"r" I "\":1", "}}],\"edges\":[]}"}},
    {"native",
     "a resource for each op",
     {"{\"format\":\"sked-graph-1\",\"resources\":[", ",{\"name\":\"r" I "\",\"capacity\":1}", "],\"ops\":[",
      ",{\"name\":\"o" I "\",\"duration\":1,\"demand\":{\"r" I "\":1}}", "],\"edges\":[]}"}},
    {"native", "deep arrays", {"{\"format\":\"sked-graph-1\",\"x-y\":", "[", ""}},
    {"native",
     "unknown keys",
     {"{\"format\":\"sked-graph-1\",\"ops\":[],\"edges\":[]", ",\"x-" I "\":{\"a\":[1,2]}", "}"}},
    {"native",
     "one long name",
     {"{\"format\":\"sked-graph-1\",\"edges\":[],\"ops\":[{\"duration\":1,\"name\":\"", "\\u00e9", "\"}]}"}},
    {"native",
     "one long number",
     {"{\"format\":\"sked-graph-1\",\"edges\":[],\"ops\":[{\"duration\":1.", "0", "1}]}"}},
    {"native", "white space", {"{\"format\":\"sked-graph-1\",", "\n ", "\"edges\":[],\"ops\":[]}"}},
    {"native",
     "durations by device",
     {"{\"format\":\"sked-graph-1\",\"edges\":[],\"ops\":[{\"name\":\"a\",\"duration\":1,\"durations\":{",
      ",\"d" I "\":1", "}}]}"}},

    {"stg", "tasks", {N "\n0 0 0\n", NEXT " 1 1 0\n", N1 " 0 " N, " " NEXT, "\n"}},
    {"stg", "a chain", {N "\n0 0 0\n", NEXT " 1 1 " I "\n", N1 " 0 1 " N "\n"}},
    {"stg", "comments", {"1\n0 0 0\n1 1 1 0\n2 0 1 1\n", "# " I "\n", ""}},

    {"psplib",
     "jobs side by side",
     {"projects : 1\njobs (incl. supersource/sink ): " N2
      "\n- renewable : 1 R\n- nonrenewable : 0 N\n****\nPRECEDENCE "
      "RELATIONS:\njobnr. #modes #successors successors\n1 1 " N,
      " " I2, "\n", I2 " 1 1 " N2 "\n",
      N2 " 1 0\n"
         "****\nREQUESTS/DURATIONS:\njobnr. mode duration R 1\n----\n1 1 0 0\n",
      I2 " 1 1 1\n", N2 " 1 0 0\n****\nRESOURCEAVAILABILITIES:\nR 1\n2\n****\n"}},
    {"psplib", "lines before the header", {"", "* " I "\n", "projects : 1\n"}},

    {"rcp", "jobs side by side", {N2 " 1\n4\n0 0 " N, " " I2, "\n", "1 1 1 " N2 "\n", "0 0 0\n"}},
    {"rcp", "resources", {"3 " N "\n", " 1", "\n0", " 0", " 1 2\n1", " 1", " 1 3\n0", " 0", " 0\n"}},

    {"jobshop", "jobs", {N " 1\n", "0 1\n", ""}},
    {"jobshop", "machines", {"1 " N "\n", I " 1 ", "\n"}},
    {"jobshop", "comments", {"", "# " I "\n", "1 1\n0 1\n"}},

    {"node_link",
     "nodes",
     {"{\"directed\":true,\"graph\":{},\"nodes\":[", ",{\"id\":" I ",\"name\":\"n" I "\"}",
      "],\"links\":[]}"}},
    {"node_link",
     "links into one node",
     {"{\"directed\":true,\"graph\":{},\"nodes\":[{\"id\":\"z\"}", ",\n{\"id\":" I "}", "],\"links\":[",
      ",{\"source\":" I ",\"target\":\"z\"}", "]}"}},
    {"node_link",
     "attributes of one node",
     {"{\"directed\":true,\"graph\":{},\"nodes\":[{\"id\":0", ",\n\"a" I "\":1", "}],\"links\":[]}"}},

    {"dnn_partitioning",
     "nodes and edges",
     {"{\"maxFPGAs\":1,\"maxCPUs\":1,\"nodes\":[{\"id\":0,\"cpuLatency\":1,\"fpgaLatency\":1}",
      ",\n{\"id\":" NEXT ",\"cpuLatency\":1,\"fpgaLatency\":1}", "],\"edges\":[",
      ",{\"sourceId\":" I ",\"destId\":" NEXT ",\"cost\":1}", "]}"}},
    {"dnn_partitioning",
     "ids far apart",
     {"{\"maxFPGAs\":1,\"maxCPUs\":1,\"nodes\":[", ",{\"id\":" I "00000,\"cpuLatency\":1,\"fpgaLatency\":1}",
      "],\"edges\":[]}"}},

    {"wfformat",
     "tasks",
     {"{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":[",
      ",{\"name\":\"t" I "\",\"id\":\"t" I "\"}", "]},\"execution\":{\"tasks\":[",
      ",{\"id\":\"t" I "\",\"runtimeInSeconds\":1}", "]}}}"}},
    {"wfformat",
     "a file that all read",
     {"{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":[{\"name\":\"w\",\"id\":\"w\","
      "\"outputFiles\":[\"y\"]}",
      ",\n{\"name\":\"t" I "\",\"id\":\"t" I "\",\"inputFiles\":[\"y\"]}",
      "],\"files\":[{\"id\":\"y\",\"sizeInBytes\":1}]}}}"}},
    {"wfformat",
     "a file that all write and read",
     {"{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":[",
      ",{\"name\":\"t" I "\",\"id\":\"t" I "\",\"outputFiles\":[\"y\"]}"
      ",{\"name\":\"u" I "\",\"id\":\"u" I "\",\"inputFiles\":[\"y\"],\"parents\":[\"t" I "\"]}",
      "],\"files\":[{\"id\":\"y\",\"sizeInBytes\":1}]}}}"}},
    {"wfformat",
     "parents of one task",
     {"{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":[",
      ",{\"name\":\"t" I "\",\"id\":\"t" I "\"}", ",{\"name\":\"z\",\"id\":\"z\",\"parents\":[",
      ",\"t" I "\"", "]}]}}}"}},
    {"wfformat",
     "files",
     {"{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":[{\"name\":\"z\",\"id\":\"z\","
      "\"inputFiles\":[",
      ",\"f" I "\"", "]}],\"files\":[", ",{\"id\":\"f" I "\",\"sizeInBytes\":1}", "]}}}"}},

    {"dot", "nodes", {"digraph g {", "n" I ";", "}"}},
    {"dot", "one chain", {"digraph g { a", "->n" I, "}"}},
    {"dot", "two groups", {"digraph g { {", "a" I ";", "} -> {", "b" I ";", "} }"}},
    {"dot",
     "a default demand and nodes",
     {"digraph g { node [demand=\"", ",r" I "=1", "\"];", "n" I ";", "}"}},
    {"dot",
     "a long default demand and nodes",
     {"digraph g { node [demand=\"", "r", "=1\"];", "n" I ";", "}"}},
    {"dot", "a long default label and nodes", {"digraph g { node [label=\"", "r", "\"];", "n" I ";", "}"}},
    {"dot", "attributes of one node", {"digraph g { a [", "k" I "=1,", "] }"}},
    {"dot", "joined strings", {"digraph g { a [label=\"x\"", "+\"y\"", "] }"}},
    {"dot", "subgraphs", {"digraph g {", "subgraph s" I " { a" I " }", "}"}},
    {"dot", "deep subgraphs", {"digraph g {", "{", "}"}},
    {"dot", "strict parallel edges", {"strict digraph g {", "a->b;", "}"}},
    {"dot", "comments", {"digraph g {", "/* x */", "}"}},
    {"dot", "an HTML string", {"digraph g { a [label=<", "<b>", ">] }"}},
    {"dot", "resources", {"digraph g { resources=\"", ",r" I "=1", "\" }"}},

    {"graphml",
     "nodes",
     {"<graphml><graph edgedefault=\"directed\">", "<node id=\"" I "\"/>", "</graph></graphml>"}},
    {"graphml",
     "edges into one node",
     {"<graphml><graph edgedefault=\"directed\"><node id=\"z\"/>", "<node id=\"" I "\"/>", "",
      "<edge source=\"" I "\" target=\"z\"/>", "</graph></graphml>"}},
    {"graphml",
     "keys",
     {"<graphml>", "<key id=\"k" I "\" for=\"node\" attr.name=\"duration\" attr.type=\"double\"/>",
      "<graph edgedefault=\"directed\"><node id=\"1\">", "<data key=\"k" I "\">1</data>",
      "</node></graph></graphml>"}},
    {"graphml",
     "one key, many nodes",
     {"<graphml>", "<key id=\"k" I "\" for=\"node\" attr.name=\"x" I "\" attr.type=\"double\"/>",
      "<graph edgedefault=\"directed\">", "<node id=\"" I "\"><data key=\"k" I "\">1</data></node>",
      "</graph></graphml>"}},
    {"graphml",
     "attributes of one node",
     {"<graphml><graph edgedefault=\"directed\"><node id=\"1\"", " a" I "=\"1\"", "/></graph></graphml>"}},
    {"graphml", "deep elements", {"<graphml><graph edgedefault=\"directed\">", "<x>", ""}},
    {"graphml",
     "namespaces",
     {"<graphml", " xmlns:a" I "=\"u\"", "><graph edgedefault=\"directed\"/></graphml>"}},
    {"graphml",
     "character references",
     {"<graphml><graph edgedefault=\"directed\"><node id=\"", "&#65;", "\"/></graph></graphml>"}},
    {"graphml",
     "one long attribute",
     {"<graphml><graph edgedefault=\"directed\"><node id=\"", "x", "\"/></graph></graphml>"}},
    {"graphml",
     "one long text",
     {"<graphml><graph edgedefault=\"directed\"><node id=\"1\"><data key=\"name\">", "x\n",
      "</data></node></graph></graphml>"}},
    {"graphml",
     "one long comment",
     {"<graphml><!-- ", "x\n", "--><graph edgedefault=\"directed\"/></graphml>"}},
    {"graphml", "comments", {"<graphml>", "<!-- x -->", "<graph edgedefault=\"directed\"/></graphml>"}},
    {"graphml",
     "entities",
     {"<!DOCTYPE g [<!ENTITY a \"" TEN(FIFTY) "\">]><graphml><graph edgedefault=\"directed\"><node id=\"1\">",
      "<data key=\"name\">&a;</data>", "</node></graph></graphml>"}},

    {"gml", "nodes", {"graph [ directed 1\n", "node [ id " I " ]\n", "]"}},
    {"gml",
     "edges into one node",
     {"graph [ directed 1 node [ id -1 ]\n", "node [ id " I " ]\n", "", "edge [ source " I " target -1 ]\n",
      "]"}},
    {"gml",
     "edges before their nodes",
     {"graph [ directed 1\n", "edge [ source " I " target " NEXT " ]\n", "node [ id 0 ]",
      "node [ id " NEXT " ]\n", "]"}},
    {"gml", "keys of one node", {"graph [ directed 1 node [ id 1 ", "k" I " 1 ", "] ]"}},
    {"gml", "deep lists", {"graph [ ", "a [ ", ""}},
    {"gml", "entities", {"graph [ directed 1 node [ id 1 label \"", "&amp;", "\" ] ]"}},
    {"gml",
     "demands",
     {"graph [ directed 1 ", "resource [ name \"r" I "\" capacity 1 ]\n", "node [ id 1 ",
      "demand [ resource \"r" I "\" ]\n", "] ]"}},

    {"blif", "gates", {".model m\n.inputs a\n.outputs a\n", ".names a n" I "\n1 1\n", ".end\n"}},
    {"blif",
     "a chain against the order of lines",
     {".model m\n.inputs n" N "\n.outputs n0\n", ".names n" NEXT " n" I "\n1 1\n", ".end\n"}},
    {"blif",
     "inputs of one gate",
     {".model m\n.inputs", " i" I, "\n.outputs o\n.names", " i" I, " o\n.end\n"}},
    {"blif", "rows of one gate", {".model m\n.inputs a\n.outputs o\n.names a o\n", "1 1\n", ".end\n"}},
    {"blif", "continued lines", {".model m\n.inputs ", "\\\n", "a\n.outputs a\n.end\n"}},
    {"blif", "latches", {".model m\n.inputs a\n.outputs a\n", ".latch a q" I " 0\n", ".end\n"}},
    {"blif", "cells", {".model m\n.inputs a\n.outputs a\n", ".gate g A=a O=n" I "\n", ".end\n"}},
    {"blif", "pins of one cell", {".model m\n.inputs a\n.outputs a\n.gate g", " P" I "=a", " O=n\n.end\n"}},
    {"blif", "models", {"", ".model m" I "\n.inputs a\n.outputs a\n.end\n", ""}},
    {"blif",
     "models within models",
     {".model top\n.inputs a\n.outputs o\n.subckt m0 a=a o=o\n.end\n",
      ".model m" I "\n.inputs a\n.outputs o\n.subckt m" NEXT " a=a o=x\n.subckt m" NEXT " a=x o=o\n.end\n",
      ""}},

    {"aiger", "gates on one input", {"aag " N1 "0 1 0 0 " N "\n2\n", NEXT "0 2 3\n", ""}},
    {"aiger",
     "a chain against the order of lines",
     {"aag " N1 "0 1 0 0 " N1 "\n2\n", NEXT "0 " I2 "0 2\n", N1 "0 2 2\n"}},
    {"aiger", "symbols", {"aag " N "0 " N " 0 0 0\n", NEXT "0\n", "", "i" I " name" I "\n", "c\n"}},
    {"aiger", "one symbol for all", {"aag " N "0 " N " 0 0 0\n", NEXT "0\n", "", "i" I " x\n", "c\n"}},
    {"aiger", "latches", {"aag " N "0 0 " N " 0 0\n", NEXT "0 " NEXT "0 0\n", ""}},
    {"aiger", "outputs", {"aag 1 1 0 " N " 0\n2\n", "2\n", ""}},
    {"aiger", "justice properties", {"aag 1 1 0 0 0 0 0 " N " 0\n2\n", "1\n", "", "3\n", ""}},
    {"aiger", "a comment", {"aag 0 0 0 0 0\nc\n", "x\n", ""}},

#define SSP(operators, graph)                                                                    \
    "ssp.instance @i of \"ModuloProblem\" { library { operator_type @t [latency<1>]\n" operators \
    "} resource { resource_type @r [limit<1>] }\ngraph { %0 = operation<@t>()\n" graph
    {"ssp", "operations", {SSP("", ""), "operation<@t>(%0)\n", "} }"}},
    {"ssp",
     "a chain against the order of lines",
     {SSP("", ""), "%n" I " = operation<@t>(%n" NEXT ")\n", "%n" N " = operation<@t>()\n} }"}},
    {"ssp", "operands of one operation", {SSP("", "operation<@t>(%0"), ", %0", ")\n} }"}},
    {"ssp", "results of one operation", {SSP("", "%a"), ", %b" I, " = operation<@t>()\n} }"}},
    {"ssp",
     "resources of one operation",
     {"ssp.instance of \"ModuloProblem\" { library { operator_type @t [latency<1>] } resource {\n",
      "resource_type @r" I "\n", "resource_type @r" N " } graph { operation<@t>() uses[@r0", ", @r" NEXT,
      "] } }"}},
    {"ssp",
     "operator types",
     {"ssp.instance of \"Problem\" { library {\n", "operator_type @t" I " [latency<1>]\n", "} graph {\n",
      "operation<@t" I ">()\n", "} }"}},
    {"ssp",
     "types of one name",
     {"", "ssp.library @L" I " { operator_type @t [latency<1>, limit<1>] }\n",
      "ssp.instance of \"ModuloProblem\" { library {} graph {\n", "operation<@L" I "::@t>()\n", "} }"}},
    {"ssp", "instances", {"", "ssp.instance @i" I " of \"Problem\" { library {} graph {} }\n", ""}},
    {"ssp", "modules", {"", "module @m" I " {}\n", "ssp.instance of \"Problem\" { library {} graph {} }\n"}},
    {"ssp", "comments", {"// x\n", "//\n", "ssp.instance of \"Problem\" { library {} graph {} }\n"}},
    {"ssp", "brackets", {SSP("", "operation<@t>() {"), "(", "\n"}},

    {"machine",
     "devices",
     {"{\"format\":\"sked-machine-1\",\"devices\":[", ",{\"name\":\"d" I "\",\"type\":\"t" I "\"}", "]}"}},
    {"machine",
     "links",
     {"{\"format\":\"sked-machine-1\",\"devices\":[", ",{\"name\":\"d" I "\"}", "],\"links\":[",
      ",{\"from\":\"d" I "\",\"to\":\"d0\",\"latency\":1}", "]}"}},
    {"machine",
     "one type",
     {"{\"format\":\"sked-machine-1\",\"devices\":[", ",{\"name\":\"d" I "\",\"type\":\"t\"}",
      "],\"links\":[{\"from\":\"t\",\"to\":\"t\",\"latency\":1}]}"}},
    {"machine",
     "durations",
     {"{\"format\":\"sked-machine-1\",\"devices\":[{\"name\":\"d\"}],\"durations\":{", ",\"o" I "\":1",
      "}}"}},
    {"machine",
     "durations of one op",
     {"{\"format\":\"sked-machine-1\",\"devices\":[", ",{\"name\":\"d" I "\"}", "],\"durations\":{\"o\":{",
      ",\"d" I "\":1", "}}}"}},
    {"schedule",
     "ops",
     {"{\"format\":\"sked-schedule-1\",\"devices\":4,\"ops\":[",
      ",{\"name\":\"o" I "\",\"start\":1,\"device\":0}", "]}"}},
    {"schedule",
     "device names",
     {"{\"format\":\"sked-schedule-1\",\"devices\":4,\"device_names\":[", ",\"d" I "\"", "],\"ops\":[]}"}},
    {"fix",
     "ops",
     {"{\"format\":\"sked-fix-1\",\"ops\":[", ",{\"name\":\"o" I "\",\"start\":1,\"device\":0}", "]}"}},
    {"answer", "ops", {"{\"time\":1,\"ops\":[", ",{\"name\":\"o" I "\",\"start\":1,\"finish\":2}", "]}"}},
    {"answer", "words", {"1", ",w" I, ""}},
    {"prior",
     "parameters",
     {"{\"format\":\"sked-prior-1\",\"parameters\":{", ",\"latency\":{\"value\":" I "}", "}}"}},
    {"measurements",
     "lines",
     {"{\"format\":\"sked-measurements-2\",\"problem\":\"71f3adc1a076e7f1\",\"target\":\"linear\"}\n",
      "{\"device\":[0,1,0],\"order\":[0,1,2],\"method\":\"search\",\"time\":" I "}\n", ""}},
    {"buffers", "buffers", {"id,lower,upper,size\n", I ",0," NEXT ",8\n", ""}},
    {"profile", "ops", {"{", ",\"o" I "\":1", "}"}},
    {"library", "types", {"{\"types\":{\"*\":{\"duration\":1}", ",\n\"t" I "\":{\"duration\":1}", "}}"}},
    {"library",
     "units of one type",
     {"{\"types\":{\"*\":{\"duration\":1,\"demand\":{", ",\"r" I "\":1", "}}}}"}},
    {"library", "resources", {"{\"types\":{\"*\":{}},\"resources\":{", ",\"r" I "\":1", "}}"}},
    {"resource_model",
     "resources",
     {"<ModelInformation><Resources>", "<Resource name=\"r" I "\" limit=\"1\"/>",
      "</Resources></ModelInformation>"}},
    {"resource_model",
     "costs of one resource",
     {"<ModelInformation><Resources><Resource name=\"Add\" limit=\"1\">",
      "<Cost name=\"c" I "\" demand=\"1\"/>", "</Resource></Resources></ModelInformation>"}},
};
enum { n_patterns = sizeof patterns / sizeof *patterns };

/* ------------------------------------------------------------------ files */

static void put(sked_i_buffer *b, const char *text, int64_t i, int64_t n)
{
    const bool opened = b->size > 0 && strchr("[{\"", b->data[b->size - 1]) != NULL;
    for (const char *s = text + (i == 0 && opened && text[0] == ','); *s; s++)
        if (*s <= N2[0])
            sked_i_buffer_int(b, *s < N[0] ? i + *s - I[0] : n + *s - N[0]);
        else
            sked_i_buffer_char(b, *s);
}

static void fill(sked_i_buffer *b, const pattern *p, int64_t n)
{
    b->size = 0;
    for (int k = 0; k < most_parts && p->part[k] != NULL; k++)
        for (int64_t i = 0; i < (k % 2 ? n : 1); i++)
            put(b, p->part[k], k % 2 ? i : 1, n);
}

/* The pattern with as many repetitions as fit the size. */
static void fill_to(sked_i_buffer *b, const pattern *p, int64_t size)
{
    int64_t n = 1;
    for (fill(b, p, 2 * n); b->size < size; fill(b, p, 2 * n))
        n *= 2;
    for (int64_t step = n; step > size / 1000; step /= 2) { /* n fits, n + 2 * step does not */
        fill(b, p, n + step);
        n += b->size < size ? step : 0;
    }
    fill(b, p, n);
    sked_i_buffer_add(b, "", 0);
    assert_false(b->failed);
}

/* ------------------------------------------------------------------ binary files */

static void put_size(sked_i_buffer *b, uint64_t x)
{
    for (; x >= 128; x >>= 7)
        sked_i_buffer_char(b, (char)(x & 127) | (char)128);
    sked_i_buffer_char(b, (char)x);
}

/* A field of wire type 2. */
static void put_field(sked_i_buffer *b, int number, const char *data, int64_t size)
{
    sked_i_buffer_char(b, (char)(number << 3 | 2));
    put_size(b, (uint64_t)size);
    sked_i_buffer_add(b, data, (size_t)size);
}

static void put_name(sked_i_buffer *b, int number, int64_t i)
{
    char name[32];
    put_field(b, number, name, snprintf(name, sizeof name, "t%lld", (long long)i));
}

static const char *const onnx_cases[] = {"a chain", "one value that all read", "inputs of one node",
                                         "attributes"};
enum { n_onnx_cases = sizeof onnx_cases / sizeof *onnx_cases };

/* A model whose graph has about `size` bytes. */
static void fill_onnx(sked_i_buffer *out, int which, int64_t size)
{
    sked_i_buffer graph = {0}, node = {0};
    for (int64_t i = 0; graph.size + node.size < size; i++) {
        if (which != 2 && which != 3)
            node.size = 0;
        if (which == 3) {
            sked_i_buffer attribute = {0};
            put_name(&attribute, 1, i);
            put_field(&node, 5, attribute.data, attribute.size);
            sked_i_buffer_free(&attribute);
            continue;
        }
        put_name(&node, 1, which == 1 ? 0 : i);
        if (which == 2)
            continue;
        put_name(&node, 2, i + 1);
        put_field(&node, 4, "Relu", 4);
        put_field(&graph, 1, node.data, node.size);
    }
    if (which >= 2) {
        put_name(&node, 2, -1);
        put_field(&node, 4, "Relu", 4);
        put_field(&graph, 1, node.data, node.size);
    }
    node.size = 0;
    put_name(&node, 1, 0);
    put_field(&graph, 11, node.data, node.size); /* the graph's input */
    out->size = 0;
    sked_i_buffer_add(out, "\x08\x08", 2);
    put_field(out, 7, graph.data, graph.size);
    sked_i_buffer_add(out, "\x42\x04\x0a\x00\x10\x11", 6);
    sked_i_buffer_free(&graph);
    sked_i_buffer_free(&node);
}

/* A header of about `size` bytes with many entries. */
static void fill_safetensors(sked_i_buffer *out, int which, int64_t size)
{
    const pattern p = {"",
                       "",
                       {which == 0 ? "{\"__metadata__\":{" : "{",
                        which == 0 ? ",\"k" I "\":\"1\""
                                   : ",\"w" I "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}",
                        which == 0 ? "}}" : "}"}};
    sked_i_buffer header = {0};
    fill_to(&header, &p, size);
    out->size = 0;
    for (int k = 0; k < 8; k++)
        sked_i_buffer_char(out, (char)((uint64_t)header.size >> (8 * k) & 255));
    sked_i_buffer_add(out, header.data, (size_t)header.size);
    sked_i_buffer_free(&header);
}

/* ------------------------------------------------------------------ TFLite */

static const char *const tflite_cases[] = {"a chain", "one tensor that all read", "inputs of one operator",
                                           "one list that all operators share"};
enum { n_tflite_cases = sizeof tflite_cases / sizeof *tflite_cases };

static void put_words(sked_i_buffer *out, int count, const int64_t *word)
{
    for (int k = 0; k < count; k++)
        sked_i_buffer_add(out, (const char *)&(uint32_t){(uint32_t)word[k]}, 4);
}
#define WORDS(out, ...) \
    put_words((out), (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

/* An operator with its lists, of which that of the inputs may stand elsewhere, at `shared`. */
static void put_operator(sked_i_buffer *out, int which, int64_t i, int64_t inputs, int64_t shared)
{
    const int64_t at = out->size;
    WORDS(out, at - 12, shared ? shared - (at + 4) : 16, 4, 1, inputs + i);
    if (shared)
        return;
    WORDS(out, inputs);
    for (int64_t k = 0; k < inputs; k++)
        WORDS(out, which == 0 ? inputs + i - 1 : k);
}

/* A model of about `size` bytes: tensors 0..inputs-1 are given, the next ones are made in turn. */
static void fill_tflite(sked_i_buffer *out, int which, int64_t size)
{
    const int64_t ops = which == 2 ? 1 : size / 40;
    const int64_t inputs = which == 2 ? size / 12 : which == 3 ? size / 40 : 1, tensors = inputs + ops;
    const uint16_t fields[] = {4, 4, 10, 12, 0, 4, 8, 0, 12, 12, 4, 0, 0, 8};
    WORDS(out, 36);
    sked_i_buffer_add(out, "TFL3", 4);
    sked_i_buffer_add(out, (const char *)fields, sizeof fields);
    WORDS(out, 36 - 12, 8, 12, 1, 64 - 52, 1, 68 - 60, 64 - 8);   /* the root, two lists, a code */
    WORDS(out, 68 - 24, 80 - 72, 84 + 8 * tensors - 76, tensors); /* the subgraph */
    for (int64_t t = 0; t < tensors; t++)
        WORDS(out, 4 * tensors);
    for (int64_t t = 0; t < tensors; t++)
        WORDS(out, out->size - 8);
    const int64_t first = out->size + 4 + 4 * ops, shared = which == 3 ? first + 20 * ops : 0;
    const int64_t stride = 20 + (shared ? 0 : 4 + 4 * inputs);
    WORDS(out, ops);
    for (int64_t i = 0; i < ops; i++)
        WORDS(out, first + i * stride - out->size);
    for (int64_t i = 0; i < ops; i++)
        put_operator(out, which, i, inputs, shared);
    WORDS(out, inputs);
    for (int64_t k = 0; shared && k < inputs; k++)
        WORDS(out, k);
}

/* ------------------------------------------------------------------ growth */

typedef struct parse {
    const parser *parser;
    const sked_graph *graph; /* that files beside a graph speak of */
    const char *bytes;
    size_t size;
    sked_status status;
} parse;

static sked_status parse_answer(const parse *x, const sked_problem *p, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_i_trace r = {0};
    sked_status st = sked_schedule_create(x->graph->n_ops, 1, &s, err);
    if (st != SKED_OK)
        return st;
    memset(s->device, 0, (size_t)s->ops * sizeof *s->device);
    st = sked_i_answer_read("input", x->bytes, x->size, p, s, true, &r, err);
    sked_i_answer_trace_free(&r);
    sked_schedule_destroy(s);
    return st;
}

static sked_status parse_beside(const char *reader, const parse *x, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_problem p;
    sked_schedule *s = NULL;
    sked_graph *g = NULL;
    sked_sampler *m = NULL;
    int32_t *device = NULL;
    double *start = NULL;
    sked_problem_init(&p, x->graph);
    if (strcmp(reader, "schedule") == 0)
        st = sked_schedule_parse("input", x->bytes, x->size, &p, &s, err);
    else if (strcmp(reader, "fix") == 0)
        st = sked_fix_parse("input", x->bytes, x->size, &p, &device, &start, err);
    else if (strcmp(reader, "answer") == 0)
        st = parse_answer(x, &p, err);
    else if (strcmp(reader, "buffers") == 0) {
        sked_buffers *b = NULL;
        st = sked_buffers_parse("input", x->bytes, x->size, &b, err);
        sked_buffers_destroy(b);
    } else if (strcmp(reader, "profile") == 0)
        st = sked_i_durations_parse_profile("input", x->bytes, x->size, x->graph, &g, err);
    else if (strcmp(reader, "library") == 0)
        st = sked_i_library_parse("input", x->bytes, x->size, x->graph, &g, err);
    else if (strcmp(reader, "safetensors") == 0)
        st = sked_i_sampler_parse("input", x->bytes, (int64_t)x->size, &m, err);
    else {
        bool accepted = false;
        assert_null(x->parser->check(x->parser, x->bytes, x->size, &accepted));
        st = accepted ? SKED_OK : SKED_ERR_FORMAT;
    }
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
    sked_sampler_destroy(m);
    sked_free(device);
    sked_free(start);
    return st;
}

static void parse_once(void *data)
{
    parse *x = data;
    sked_error err = {0};
    sked_graph *g = NULL;
    if (x->parser->format == NULL) {
        x->status = parse_beside(x->parser->name, x, &err);
        return;
    }
    const sked_read_options opt = {.size = sizeof opt, .format = x->parser->format->info.name};
    x->status = sked_graph_parse("input", x->bytes, x->size, &opt, &g, &err);
    sked_graph_destroy(g);
}

/* As many ops, called o0, o1, ..., as a file of this size may name. */
static sked_graph *graph_beside(int64_t ops)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int64_t i = 0; i < ops; i++) {
        char name[32];
        snprintf(name, sizeof name, "o%lld", (long long)i);
        OK(sked_builder_add_op(b, name, "x", 1, NULL, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

enum { kilobyte = 1024, small = 256 * kilobyte };

static double work_to_parse(const parser *p, const sked_i_buffer *file, sked_status *status)
{
    const bool beside = p->format == NULL;
    sked_graph *g = beside ? graph_beside(file->size / 12) : NULL;
    parse x = {.parser = p, .graph = g, .bytes = file->data, .size = (size_t)file->size};
    const double work = work_of(parse_once, &x);
    *status = x.status;
    sked_graph_destroy(g);
    return work;
}

typedef void fill_fn(sked_i_buffer *file, int which, int64_t size);

static void fill_pattern(sked_i_buffer *file, int which, int64_t size)
{
    fill_to(file, &patterns[which], size);
}

/* Work for twice the size over work for the size. The least of several rounds: other programs only ever add.
 */
static double growth_from(const parser *p, fill_fn *make, int which, int64_t size, double *most,
                          bool *accepted)
{
    const double base = work_counter() >= 0 ? 3e6 : 1e-3; /* what every call costs does not count */
    sked_i_buffer file[2] = {{0}, {0}};
    double work[2] = {INFINITY, INFINITY}, ratio = INFINITY;
    sked_status status = SKED_OK;
    for (int k = 0; k < 2; k++)
        make(&file[k], which, (k + 1) * size);
    for (int round = 0; round < 10 && !(ratio <= 2.5); round++) {
        for (int k = 0; k < 2; k++)
            work[k] = fmin(work[k], work_to_parse(p, &file[k], &status));
        ratio = (work[1] + base) / (work[0] + base);
    }
    *most = work[1];
    *accepted = status == SKED_OK;
    sked_i_buffer_free(&file[0]);
    sked_i_buffer_free(&file[1]);
    return ratio;
}

/*
 * From a quarter of a megabyte to half of one; where that is too much, at larger sizes as well: processor
 * time jumps where the data outgrows a cache, but not every time, and what is quadratic shows at every size.
 */
static void check_growth(const parser *p, const char *what, fill_fn *make, int which)
{
    const bool exact = work_counter() >= 0;
    double work;
    bool accepted;
    double ratio = growth_from(p, make, which, small, &work, &accepted);
    print_message("  %-18s %-40s %8.2f %s, times %.2f%s\n", p->name, what, exact ? 1e-6 * work : 1e3 * work,
                  exact ? "M instructions" : "ms", ratio, accepted ? "" : ", refused");
    for (int k = 2; k <= 4 && !(ratio <= 2.5) && !exact; k *= 2)
        ratio = growth_from(p, make, which, k * small, &work, &accepted);
    if (!(ratio <= 2.5))
        fail_msg("%s, %s: twice the size takes %.2f times the work", p->name, what, ratio);
}

/* Runs every case of one parser; returns how many there are. */
static int check_parser(const parser *p)
{
    int cases = 0;
    for (int k = 0; k < n_patterns; k++)
        if (strcmp(patterns[k].reader, p->name) == 0) {
            check_growth(p, patterns[k].what, fill_pattern, k);
            cases++;
        }
    for (int k = 0; strcmp(p->name, "onnx") == 0 && k < n_onnx_cases; k++, cases++)
        check_growth(p, onnx_cases[k], fill_onnx, k);
    for (int k = 0; strcmp(p->name, "tflite") == 0 && k < n_tflite_cases; k++, cases++)
        check_growth(p, tflite_cases[k], fill_tflite, k);
    for (int k = 0; strcmp(p->name, "safetensors") == 0 && k < 2; k++, cases++)
        check_growth(p, k == 0 ? "metadata" : "tensors", fill_safetensors, k);
    return cases;
}

static void test_every_reader(void **state)
{
    (void)state;
    for (int i = 0; i < n_parsers; i++) {
        if (parsers[i].format != NULL && parsers[i].format->read == NULL)
            continue;
        if (check_parser(&parsers[i]) == 0)
            fail_msg("no case for the reader %s: add one", parsers[i].name);
    }
}

/* ------------------------------------------------------------------ checks */

typedef struct check {
    const char *what;
    bool own_pools, one_pool; /* a resource for each op, one for all */
    bool ring;                /* one carried cycle, a little longer than the cycle of each op alone */
    bool fixed;               /* a device for each op */
    bool different;           /* as many devices as ops, of as many speeds */
    sked_objective objective;
} check;

static const check checks[] = {
    {.what = "a resource for each op", .own_pools = true, .objective = SKED_OBJECTIVE_MAKESPAN},
    {.what = "a resource for each op, its peak", .own_pools = true, .objective = SKED_OBJECTIVE_RESOURCE},
    {.what = "one resource", .one_pool = true, .objective = SKED_OBJECTIVE_MAKESPAN},
    {.what = "one carried cycle", .ring = true, .objective = SKED_OBJECTIVE_II},
    {.what = "a device for each op", .fixed = true, .objective = SKED_OBJECTIVE_MAKESPAN},
    {.what = "different devices", .different = true, .objective = SKED_OBJECTIVE_MAKESPAN},
};
enum { n_checks = sizeof checks / sizeof *checks };

typedef struct checked {
    sked_problem problem;
    sked_graph *graph;
    sked_machine *machine;
    sked_schedule *schedule; /* ops one after the other */
    int32_t *device;
} checked;

static sked_machine *different_devices(int32_t n)
{
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    char name[32];
    OK(sked_machine_builder_create(NULL, &b, err));
    for (int32_t d = 0; d < n; d++) {
        snprintf(name, sizeof name, "d%d", (int)d);
        OK(sked_machine_builder_add_device(b, name, NULL, 1 + (double)d / n, INFINITY, NULL, err));
    }
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    return m;
}

static void add_ring(sked_builder *b, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const sked_edge alone = {.from = i, .to = i, .lag = 10, .distance = 1};
        const sked_edge back = {
            .from = i, .to = i > 0 ? i - 1 : n - 1, .lag = i == n / 2 ? 11 : 10, .distance = 1};
        OK(sked_builder_add_edge(b, &alone, err));
        OK(sked_builder_add_edge(b, &back, err));
    }
}

static void open_checked(const check *c, int32_t n, checked *x)
{
    sked_builder *b = NULL;
    char name[32];
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < (c->own_pools ? n : c->one_pool); i++) {
        snprintf(name, sizeof name, "r%d", (int)i);
        OK(sked_builder_add_resource(b, name, 1, NULL, err));
    }
    for (int32_t i = 0; i < n; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        if (c->own_pools || c->one_pool)
            OK(sked_builder_add_demand(b, i, c->own_pools ? i : 0, 1, err));
    }
    if (c->ring)
        add_ring(b, n);
    OK(sked_builder_finish(b, &x->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&x->problem, x->graph);
    x->problem.objective = c->objective;
    x->problem.ii = c->ring ? 2.0 * n : 0;
    x->problem.machine = x->machine = c->different ? different_devices(n) : NULL;
    x->problem.devices = c->fixed || c->different ? n : 0;
    OK(sked_schedule_create(n, x->problem.devices, &x->schedule, err));
    x->schedule->ii = x->problem.ii;
    assert_non_null(x->device = malloc((size_t)n * sizeof *x->device));
    for (int32_t i = 0; i < n; i++) {
        x->schedule->start[i] = i;
        x->device[i] = n - 1 - i;
        if (c->fixed || c->different)
            x->schedule->device[i] = x->device[i];
    }
    x->problem.fix_device = c->fixed ? x->device : NULL;
}

static void close_checked(checked *x)
{
    sked_schedule_destroy(x->schedule);
    sked_graph_destroy(x->graph);
    sked_machine_destroy(x->machine);
    free(x->device);
}

static void check_once(void *data)
{
    const checked *x = data;
    sked_metrics m = {.size = sizeof m};
    double bound;
    OK(sked_problem_check(&x->problem, err));
    OK(sked_problem_bound(&x->problem, &bound, NULL, err));
    OK(sked_schedule_validate(&x->problem, x->schedule, err));
    OK(sked_schedule_measure(&x->problem, x->schedule, &m, err));
}

static double growth_of_check(const check *c, int32_t n)
{
    const double base = work_counter() >= 0 ? 3e6 : 1e-3;
    double work[2] = {INFINITY, INFINITY}, ratio = INFINITY;
    checked x[2];
    memset(x, 0, sizeof x);
    for (int k = 0; k < 2; k++)
        open_checked(c, (k + 1) * n, &x[k]);
    for (int round = 0; round < 10 && !(ratio <= 2.5); round++) {
        for (int k = 0; k < 2; k++)
            work[k] = fmin(work[k], work_of(check_once, &x[k]));
        ratio = (work[1] + base) / (work[0] + base);
    }
    for (int k = 0; k < 2; k++)
        close_checked(&x[k]);
    return ratio;
}

/* More ops than energetic reasoning takes on: below that its steps are bounded, and quadratic. */
static void test_every_check(void **state)
{
    (void)state;
    for (int k = 0; k < n_checks; k++) {
        double ratio = growth_of_check(&checks[k], 25000);
        print_message("  %-40s times %.2f\n", checks[k].what, ratio);
        for (int more = 2; more <= 4 && !(ratio <= 2.5); more *= 2)
            ratio = growth_of_check(&checks[k], more * 25000);
        if (!(ratio <= 2.5))
            fail_msg("%s: twice the ops take %.2f times the work", checks[k].what, ratio);
    }
}

/* ------------------------------------------------------------------ targets */

typedef struct replayed {
    sked_graph *graph;
    sked_schedule *schedule;
    sked_target *target;
} replayed;

/* One op that all others read, and each its neighbour, on n / 4 devices. */
static void open_replayed(int32_t n, replayed *x)
{
    sked_builder *b = NULL;
    sked_problem p;
    *x = (replayed){0};
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < n; i++) {
        const sked_edge hub = {0, i, SKED_LAG_DEFAULT, 1, 0}, chain = {i - 1, i, SKED_LAG_DEFAULT, 2, 0};
        OK(sked_builder_add_op(b, NULL, NULL, 1 + i % 3, NULL, err));
        if (i > 0)
            OK(sked_builder_add_edge(b, &hub, err));
        if (i > 1 && i % 8 != 0)
            OK(sked_builder_add_edge(b, &chain, err));
    }
    OK(sked_builder_finish(b, &x->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&p, x->graph);
    p.devices = n / 4;
    p.latency = 1;
    OK(sked_schedule_create(n, p.devices, &x->schedule, err));
    for (int32_t i = 0; i < n; i++) {
        x->schedule->start[i] = i;
        x->schedule->device[i] = (int32_t)((int64_t)i * 7919 % p.devices);
    }
    OK(sked_target_create("contention+cache:depth=1000000", &p, 0, &x->target, err));
}

static void replay_once(void *data)
{
    const replayed *x = data;
    double time;
    OK(measured_time(x->target, x->schedule, &time, err));
}

/* Twice the ops, twice the work and a little more for the heap. */
static void test_replay_with_contention(void **state)
{
    (void)state;
    const double base = work_counter() >= 0 ? 3e6 : 1e-3;
    double ratio = INFINITY;
    for (int32_t n = 25000; n <= 100000 && !(ratio <= 2.7); n *= 2) {
        double work[2];
        for (int k = 0; k < 2; k++) {
            replayed x;
            open_replayed((k + 1) * n, &x);
            work[k] = work_of(replay_once, &x);
            sked_target_destroy(x.target);
            sked_schedule_destroy(x.schedule);
            sked_graph_destroy(x.graph);
        }
        ratio = (work[1] + base) / (work[0] + base);
        print_message("  replay with contention of %d ops: times %.2f\n", (int)n, ratio);
    }
    if (!(ratio <= 2.7))
        fail_msg("twice the ops take %.2f times the work", ratio);
}

/* ------------------------------------------------------------------ GauS on circuits */

/* Deep circuits, where values live for thousands of steps. */
typedef struct relaxed {
    sked_graph *graph;
    sked_problem problem;
    double steps;
    sked_i_relaxation *model;
    sked_i_gaus_legaliser *legaliser;
    sked_i_gaus_incumbent best;
    double *mu;
} relaxed;

static void open_relaxed(int32_t nodes, relaxed *x)
{
    const char *setting = "kind=divider";
    const sked_generate_options o = {.size = sizeof o, .nodes = nodes, .settings = &setting, .n_settings = 1};
    sked_graph_info info = {.size = sizeof info};
    OK(sked_graph_generate("circuit", &o, &x->graph, err));
    OK(sked_graph_describe(x->graph, &info, err));
    sked_problem_init(&x->problem, x->graph);
    x->problem.objective = SKED_OBJECTIVE_MEMORY;
    x->steps = floor(1.2 * info.depth);
    OK(sked_i_relaxation_create(&x->problem, 0, (int64_t)x->steps, &x->model, err));
    OK(sked_i_gaus_legaliser_create(x->model, &x->legaliser, err));
    OK(sked_i_gaus_incumbent_create(x->model->n, &x->best, err));
    assert_non_null(x->mu = malloc((size_t)x->model->n * sizeof *x->mu));
}

static void close_relaxed(relaxed *x)
{
    free(x->mu);
    sked_i_gaus_incumbent_free(&x->best);
    sked_i_gaus_legaliser_destroy(x->legaliser);
    sked_i_relaxation_destroy(x->model);
    sked_graph_destroy(x->graph);
}

static void model_once(void *data)
{
    const relaxed *x = data;
    sked_i_relaxation *m = NULL;
    OK(sked_i_relaxation_create(&x->problem, 0, (int64_t)x->steps, &m, err));
    sked_i_relaxation_destroy(m);
}

static void legalise_once(void *data)
{
    relaxed *x = data;
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_gaus_place_means(x->model, SKED_I_GAUS_START_MIDPOINT, NULL, NULL, x->mu);
    assert_true(sked_i_gaus_legalise(x->legaliser, x->mu, &limit));
    sked_i_gaus_keep(&x->best, x->legaliser->state);
}

static void descend_once(void *data)
{
    relaxed *x = data;
    const sked_i_gaus_tuning tuning = {
        .rate = 0.2, .sigma_scale = 1, .iterations = 8, .restarts = 1, .every = 8, .goal = -INFINITY};
    const sked_i_limit limit = {.deadline = INFINITY};
    int64_t evaluations = 0;
    sked_i_gaus_place_means(x->model, SKED_I_GAUS_START_MIDPOINT, NULL, NULL, x->mu);
    OK(sked_i_gaus_descend_means(x->legaliser, &tuning, &limit, x->mu, &x->best, &evaluations, err));
}

static void polish_once(void *data)
{
    relaxed *x = data;
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 1, 1);
    legalise_once(x);
    OK(sked_i_gaus_polish(x->legaliser->state, 0.25, 0.01, &rng, &limit, 0, &x->best, err));
}

/* Work for twice the ops over work for the ops. */
static double growth_of(void (*call)(void *data), int32_t ops)
{
    const double base = work_counter() >= 0 ? 3e6 : 1e-3;
    double work[2] = {INFINITY, INFINITY}, ratio = INFINITY;
    relaxed x[2];
    memset(x, 0, sizeof x);
    for (int k = 0; k < 2; k++)
        open_relaxed((k + 1) * ops, &x[k]);
    for (int round = 0; round < 10 && !(ratio <= 2.5); round++) {
        for (int k = 0; k < 2; k++)
            work[k] = fmin(work[k], work_of(call, &x[k]));
        ratio = (work[1] + base) / (work[0] + base);
    }
    for (int k = 0; k < 2; k++)
        close_relaxed(&x[k]);
    return ratio;
}

/* As check_growth: at larger sizes, too, where the data may have outgrown a cache. */
static void test_gaus_on_circuits(void **state)
{
    static const struct {
        const char *what;
        void (*call)(void *data);
    } parts[] = {{"model", model_once},
                 {"legalising", legalise_once},
                 {"steps on the means", descend_once},
                 {"polish", polish_once}};
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double ratio = growth_of(parts[i].call, 100000);
        print_message("  %-40s times %.2f\n", parts[i].what, ratio);
        for (int k = 2; k <= 4 && !(ratio <= 2.5) && work_counter() < 0; k *= 2)
            ratio = growth_of(parts[i].call, k * 100000);
        if (!(ratio <= 2.5))
            fail_msg("%s: twice the ops take %.2f times the work", parts[i].what, ratio);
    }
}

/* The judge and the first packing, of buffers that are held three or four at a time. */
static void pack_chain(void *data)
{
    enum { most = 1 << 15 };
    static double lower[most], upper[most];
    static int64_t bytes[most];
    const int64_t n = *(const int64_t *)data;
    sked_pack_options opt;
    sked_packing p = {.size = sizeof p};
    sked_pack_options_init(&opt);
    opt.time_limit = 0;
    for (int64_t i = 0; i < n; i++) {
        lower[i] = (double)i;
        upper[i] = (double)(i + 3 + i % 2);
        bytes[i] = 1 + i * 7919 % 64;
    }
    const sked_buffer_columns b = {
        .size = sizeof b, .count = n, .lower = lower, .upper = upper, .bytes = bytes};
    OK(sked_pack(&b, &opt, &p, err));
    sked_packing_clear(&p);
}

static void test_packing(void **state)
{
    (void)state;
    int64_t n = 1 << 14;
    const double once = work_of(pack_chain, &n);
    n *= 2;
    const double twice = work_of(pack_chain, &n);
    if (twice > 2.5 * once)
        fail_msg("twice the buffers take %.2f times the work", twice / once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packing),          cmocka_unit_test(test_every_reader),
        cmocka_unit_test(test_every_check),      cmocka_unit_test(test_replay_with_contention),
        cmocka_unit_test(test_gaus_on_circuits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
