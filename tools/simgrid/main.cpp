/*
 * sked-simgrid PLAN: runs one schedule on a SimGrid platform and prints time and trace as JSON. Target
 * `simgrid` writes the plan and calls this program. It is a program of its own because SimGrid keeps its
 * engine in global variables, one for each process, may end the process on errors, and brings libraries
 * that take 35 ms to load and are partly under the GPL.
 *
 * The plan is text:
 *     sked-simgrid-1
 *     platform FILE
 *     unit SECONDS      of a duration of 1
 *     speed FLOPS       which durations are for; 0: the speed of the first device's host; -1: that of each
 * host devices COUNT hosts KIND        0: none; 1: these; 2: these if the platform has them all; then COUNT
 * lines, a name each ops COUNT         then lines DEVICE PREVIOUS TIME: the op before on its device (-1:
 * none), in durations edges COUNT       then lines FROM TO BYTES
 *
 * An op is an Exec, the result that it sends to another host a Comm; SimGrid starts each when all before it
 * are done. Errors: the last line printed, exit code 1.
 */
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace
{

enum hosts_kind { NO_HOSTS, THESE_HOSTS, THESE_IF_ALL };

struct op {
    int device, previous;
    double time;
};

struct edge {
    int from, to;
    double bytes;
};

struct plan {
    std::string platform;
    double unit, speed;
    int devices, kind;
    std::vector<std::string> names;
    std::vector<op> ops;
    std::vector<edge> edges;
};

std::string read_line(std::istream &in, const char *key)
{
    std::string line;
    const std::string start = std::string(key) + " ";
    if (!std::getline(in >> std::ws, line) || line.compare(0, start.size(), start) != 0)
        throw std::runtime_error(std::string("the plan has no ") + key);
    return line.substr(start.size());
}

plan read_plan(const char *path)
{
    std::ifstream in(path);
    std::string line;
    plan p;
    if (!std::getline(in, line) || line != "sked-simgrid-1")
        throw std::runtime_error("this is no plan of sked");
    p.platform = read_line(in, "platform");
    p.unit = std::stod(read_line(in, "unit"));
    p.speed = std::stod(read_line(in, "speed"));
    p.devices = std::stoi(read_line(in, "devices"));
    p.kind = std::stoi(read_line(in, "hosts"));
    for (int d = 0; p.kind != NO_HOSTS && d < p.devices && std::getline(in, line); d++)
        p.names.push_back(line);
    p.ops.resize(std::stoul(read_line(in, "ops")));
    for (op &o : p.ops)
        in >> o.device >> o.previous >> o.time;
    p.edges.resize(std::stoul(read_line(in, "edges")));
    for (edge &e : p.edges)
        in >> e.from >> e.to >> e.bytes;
    if (!in)
        throw std::runtime_error("the plan ends early");
    return p;
}

/* ---------------------------------------------------------------- hosts */

bool by_name(const sg4::Host *a, const sg4::Host *b)
{
    return strverscmp(a->get_cname(), b->get_cname()) < 0; /* node-2 before node-10 */
}

std::vector<sg4::Host *> hosts_in_order(const sg4::Engine &engine, int devices)
{
    std::vector<sg4::Host *> hosts = engine.get_all_hosts();
    std::sort(hosts.begin(), hosts.end(), by_name);
    if ((int)hosts.size() < devices)
        throw std::runtime_error("devices: the platform has " + std::to_string(hosts.size()) + " hosts for " +
                                 std::to_string(devices) +
                                 " devices; hosts=A/A/B lets several devices share a host of several cores");
    hosts.resize((std::size_t)devices);
    return hosts;
}

std::vector<sg4::Host *> find_hosts(const sg4::Engine &engine, const plan &p)
{
    std::vector<sg4::Host *> hosts;
    for (const std::string &name : p.names) {
        sg4::Host *host = engine.host_by_name_or_null(name);
        if (host == nullptr && p.kind == THESE_HOSTS)
            throw std::runtime_error("devices: the platform has no host called '" + name + "'");
        if (host != nullptr)
            hosts.push_back(host);
    }
    return (int)hosts.size() == p.devices ? hosts : hosts_in_order(engine, p.devices);
}

/* ---------------------------------------------------------------- the run */

class simulation
{
  public:
    simulation(const plan &p, const std::vector<sg4::Host *> &hosts) : plan_(p), hosts_(hosts)
    {
    }

    void run(const sg4::Engine &engine)
    {
        for (const op &o : plan_.ops)
            add_op(o);
        for (std::size_t i = 0; i < plan_.ops.size(); i++)
            if (plan_.ops[i].previous >= 0)
                follow(execs_[(std::size_t)plan_.ops[i].previous], execs_[i]);
        for (const edge &e : plan_.edges)
            add_edge(e);
        for (auto &one : copies_)
            one.second.comm->set_payload_size((uint64_t)one.second.bytes);
        for (const sg4::ExecPtr &e : execs_)
            e->vetoable_start();
        for (auto &one : copies_)
            one.second.comm->vetoable_start();
        engine.run();
    }

    void print() const
    {
        double time = 0;
        for (const sg4::ExecPtr &e : execs_)
            time = std::max(time, finish(e));
        std::printf("{\"time\": %.17g, \"ops\": [", time / plan_.unit);
        for (std::size_t i = 0; i < execs_.size(); i++)
            std::printf("%s\n{\"name\": %zu, \"start\": %.17g, \"finish\": %.17g}", i > 0 ? "," : "", i,
                        execs_[i]->get_start_time() / plan_.unit, finish(execs_[i]) / plan_.unit);
        std::printf("]}\n");
    }

  private:
    /* The result of an op on its way to one device: sent once, as many bytes as its most eager reader takes.
     */
    struct copy {
        sg4::CommPtr comm;
        double bytes;
    };

    static double finish(const sg4::ExecPtr &e)
    {
        if (e->get_state() != sg4::Activity::State::FINISHED)
            throw std::runtime_error("platform: the simulation ended before all ops were done");
        return e->get_finish_time();
    }

    sg4::Host *host_of(int op) const
    {
        return hosts_[(std::size_t)plan_.ops[(std::size_t)op].device];
    }

    void add_op(const op &o)
    {
        sg4::Host *host = hosts_[(std::size_t)o.device];
        const double speed =
            plan_.speed > 0 ? plan_.speed : (plan_.speed < 0 ? host : hosts_[0])->get_speed();
        execs_.push_back(sg4::Exec::init());
        execs_.back()->set_flops_amount(o.time * plan_.unit * speed)->set_host(host);
    }

    /* SimGrid refuses to be told twice. */
    template <class Before, class After> void follow(const Before &before, const After &after)
    {
        if (told_.emplace(before.get(), after.get()).second)
            before->add_successor(after);
    }

    /* Devices on one host share its memory. */
    void add_edge(const edge &e)
    {
        const sg4::ExecPtr &from = execs_[(std::size_t)e.from], &to = execs_[(std::size_t)e.to];
        if (host_of(e.from) == host_of(e.to)) {
            follow(from, to);
            return;
        }
        copy &c = copies_[std::make_pair(e.from, plan_.ops[(std::size_t)e.to].device)];
        if (c.comm == nullptr) {
            c = {sg4::Comm::sendto_init(host_of(e.from), host_of(e.to)), 0};
            follow(from, c.comm);
        }
        c.bytes = std::max(c.bytes, e.bytes);
        follow(c.comm, to);
    }

    const plan &plan_;
    const std::vector<sg4::Host *> &hosts_;
    std::vector<sg4::ExecPtr> execs_;
    std::map<std::pair<int, int>, copy> copies_;
    std::set<std::pair<sg4::Activity *, sg4::Activity *>> told_;
};

void run(const char *path)
{
    static char name[] = "sked-simgrid", quiet[] = "--log=root.thres:error";
    char *arguments[] = {name, quiet, nullptr};
    int count = 2;
    const plan p = read_plan(path);
    sg4::Engine engine(&count, arguments);
    engine.load_platform(p.platform);
    const std::vector<sg4::Host *> hosts = find_hosts(engine, p);
    if (p.ops.empty()) { /* asked which hosts the devices are */
        for (const sg4::Host *host : hosts)
            std::puts(host->get_cname());
        return;
    }
    simulation s(p, hosts);
    s.run(engine);
    s.print();
}

} // namespace

int main(int argc, char **argv)
{
    std::setlocale(LC_ALL, "C"); /* whatever a library may have set: plan and answer have decimal points */
    if (argc != 2) {
        std::puts("usage: sked-simgrid PLAN (the target simgrid of sked calls it)");
        return 1;
    }
    try {
        run(argv[1]);
    } catch (const std::exception &e) {
        std::fflush(stdout);
        std::printf("%s\n", e.what());
        return 1;
    }
    std::fflush(stdout);
    return std::ferror(stdout) != 0;
}
