/* With devices: from changes to loads, the value, and prices of the cells. */
#include "backend/cuda/gaus_block.h"
#include "backend/cuda/gaus_device.h"

/* Loads of one row, and their overuse: 1 is full. Leaves zeros for the next evaluation. */
__global__ static void __launch_bounds__(SKED_I_GAUS_WIDE) load_kernel(sked_i_gaus_device_board b)
{
    const int64_t row = (int64_t)blockIdx.x * b.cells, stride = (int64_t)b.rows * b.cells;
    const double inverse = 1 / b.scale[blockIdx.x]; /* a power of two */
    long long carry = 0, all;
    double over = 0;
    for (int32_t first = 0; first < b.cells; first += SKED_I_GAUS_WIDE) {
        const int32_t c = first + (int32_t)threadIdx.x;
        const long long x = c < b.cells ? gaus_take_change(b.change + row + c, b.copies, stride) : 0;
        const double load = (double)(carry + gaus_block_scan(x, &all)) * inverse;
        carry += all;
        if (c >= b.cells)
            continue;
        b.load[row + c] = load;
        over += load > 1 ? 0.5 * (load - 1) * (load - 1) : 0;
    }
    over = gaus_block_sum(over);
    if (threadIdx.x == 0)
        b.over[blockIdx.x] = over;
}

__global__ static void __launch_bounds__(SKED_I_GAUS_WIDE)
    value_kernel(sked_i_gaus_device_board b, const sked_i_gaus_growth *raise)
{
    double sum[SKED_I_GAUS_DEVICE_SUMS];
    gaus_sum_partial(b.partial, b.blocks, SKED_I_GAUS_DEVICE_SUMS, sum);
    if (threadIdx.x != 0)
        return;
    sked_i_gaus_value v = {};
    v.violation[SKED_I_GAUS_DEPENDENCY] = sum[0];
    v.violation[SKED_I_GAUS_LATENCY] = sum[1];
    for (int32_t r = 0; r < b.rows; r++)
        v.violation[SKED_I_GAUS_CAPACITY] += b.over[r];
    gaus_keep_value(b.control, &v, raise);
}

/* Prices of one row, and their sums before each cell. */
__global__ static void __launch_bounds__(SKED_I_GAUS_WIDE) price_kernel(sked_i_gaus_device_board b)
{
    const int64_t row = (int64_t)blockIdx.x * b.cells;
    const double weight = b.control->coefficient[SKED_I_GAUS_CAPACITY];
    double *prefix = b.prefix + (int64_t)blockIdx.x * (b.cells + 1), carry = 0, all;
    for (int32_t first = 0; first < b.cells; first += SKED_I_GAUS_WIDE) {
        const int32_t c = first + (int32_t)threadIdx.x;
        const double load = c < b.cells ? b.load[row + c] : 0, price = load > 1 ? weight * (load - 1) : 0;
        const double sum = carry + gaus_block_scan(price, &all);
        carry += all;
        if (c >= b.cells)
            continue;
        b.price[row + c] = price;
        prefix[c + 1] = sum;
    }
    if (threadIdx.x == 0)
        prefix[0] = 0;
}

void sked_i_gaus_device_profiles(const sked_i_gaus_device_board *board, const sked_i_gaus_growth *raise,
                                 cudaStream_t stream)
{
    const sked_i_gaus_device_board b = *board;
    if (b.rows > 0)
        SKED_LAUNCH(load_kernel, (unsigned)b.rows, SKED_I_GAUS_WIDE, 0, stream, b);
    SKED_LAUNCH(value_kernel, 1, SKED_I_GAUS_WIDE, 0, stream, b, raise);
    if (b.rows > 0)
        SKED_LAUNCH(price_kernel, (unsigned)b.rows, SKED_I_GAUS_WIDE, 0, stream, b);
}
