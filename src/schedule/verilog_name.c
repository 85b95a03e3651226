/* Identifiers of Verilog. */
#include "schedule/verilog.h"

#include <string.h>

static const char keywords[] =
    " always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign default "
    "defparam design disable edge else end endcase endconfig endfunction endgenerate endmodule endprimitive "
    "endspecify endtable endtask event for force forever fork function generate genvar highz0 highz1 if "
    "ifnone "
    "incdir include initial inout input instance integer join large liblist library localparam macromodule "
    "medium module nand negedge nmos nor noshowcancelled not notif0 notif1 or output parameter pmos posedge "
    "primitive pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent rcmos real realtime reg "
    "release repeat rnmos rpmos rtran rtranif0 rtranif1 scalared showcancelled signed small specify "
    "specparam "
    "strong0 strong1 supply0 supply1 table task time tran tranif0 tranif1 tri tri0 tri1 triand trior trireg "
    "unsigned use uwire vectored wait wand weak0 weak1 while wire wor xnor xor "
    /* of SystemVerilog, as tools may read the file so */
    "alias assert assume before bind bins bit break byte chandle checker class clocking const constraint "
    "context continue cover cross dist do endchecker endclass endclocking endgroup endinterface endpackage "
    "endprogram endproperty endsequence enum expect export extends extern final foreach forkjoin global iff "
    "implements import inside int interface intersect let local logic longint matches modport new nexttime "
    "null "
    "package packed priority program property protected pure rand randc ref restrict return sequence "
    "shortint "
    "shortreal soft solve static string strong struct super tagged this throughout type typedef union unique "
    "until var virtual void weak with within ";

static bool is_keyword(const char *name, size_t size)
{
    for (const char *s = keywords; (s = strchr(s, ' ')) != NULL && s[1] != 0; s++)
        if (strncmp(s + 1, name, size) == 0 && s[1 + size] == ' ')
            return true;
    return false;
}

static bool is_plain(const char *name, size_t size)
{
    for (size_t k = 0; k < size; k++) {
        const char c = name[k];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (k == 0 || !((c >= '0' && c <= '9') || c == '$')))
            return false;
    }
    return size > 0 && !is_keyword(name, size);
}

void sked_i_verilog_name(sked_i_buffer *out, const char *name, const char *suffix)
{
    const int64_t begin = out->size;
    const bool taken = suffix[0] == 0 && (strcmp(name, "clk") == 0 || strcmp(name, "LATENCY") == 0);
    sked_i_buffer_char(out, '\\');
    for (const char *s = name; *s != 0; s++)
        if (*s <= ' ' || *s > '~' || *s == '%' || *s == '$')
            sked_i_buffer_format(out, "%%%02X", (unsigned)(unsigned char)*s);
        else
            sked_i_buffer_char(out, *s);
    sked_i_buffer_text(out, name[0] == 0 ? "%" : "");
    sked_i_buffer_text(out, taken ? "$" : suffix);
    if (out->failed)
        return;
    char *const word = out->data + begin;
    const size_t size = (size_t)(out->size - begin) - 1;
    if (!is_plain(word + 1, size)) {
        sked_i_buffer_char(out, ' ');
        return;
    }
    memmove(word, word + 1, size + 1);
    out->size--;
}
