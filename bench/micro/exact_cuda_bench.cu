// SPDX-License-Identifier: Apache-2.0
// `exact` on one GPU; cuda_stage_bench.cuh tells how.
//   exact_cuda_bench FILE.safetensors [OUT.jsonl]
#include "cuda_stage_bench.cuh"

int main(int argc, char** argv) {
  return offramp::bench::run_stage_bench(offramp::StageId::exact, argc, argv);
}
