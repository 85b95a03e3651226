/* Reports: what they say is what the schedule says, files are well-formed, sizes stay bounded. */
#include "report_samples.h"

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--samples") == 0) {
        static const struct { const char *name; void (*make)(sample *); } kinds[] = {
            {"small", sample_small}, {"resources", sample_resources}, {"pipelined", sample_pipelined}, {"hostile", sample_hostile}};
        char path[1000];
        for (int k = 0; k < 7; k++) {
            sample s = {0};
            const char *name;
            if (k < 4) { kinds[k].make(&s); name = kinds[k].name; }
            else if (k == 4) { sample_layered(&s, 1000, 40, 8); name = "layered"; }
            else if (k == 5) { sample_layered(&s, 100000, 400, 16); name = "large"; }
            else { sample_free_ops(&s, 1500, 30); name = "free"; }
            for (int r = 0; r < sked_report_count(); r++) {
                snprintf(path, sizeof path, "%s/%s%s", argv[2], name, sked_report_at(r)->extension);
                const double t = sked_clock();
                OK(sked_report_write(&s.data, path, NULL, err));
                printf("%s %.3f s\n", path, sked_clock() - t);
            }
            sample_free(&s);
        }
        return 0;
    }
    return 0;
}
