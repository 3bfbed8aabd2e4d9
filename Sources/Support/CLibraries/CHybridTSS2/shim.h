// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers only. The libraries are loaded at run time, because most computers use no TPM, and some have no libtss2.
#include <dlfcn.h>
#include <stdbool.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_rc.h>
#include <tss2/tss2_tctildr.h>

#define HYBRID_ESYS_FUNCTIONS(use)                                                                                     \
    use(Esys_Initialize) use(Esys_Finalize) use(Esys_Free) use(Esys_GetCapability) use(Esys_TR_FromTPMPublic)         \
    use(Esys_TR_GetName) use(Esys_TR_Close) use(Esys_TR_SetAuth) use(Esys_TRSess_SetAttributes) use(Esys_ReadPublic)  \
    use(Esys_CreatePrimary) use(Esys_StartAuthSession) use(Esys_Create) use(Esys_Load) use(Esys_Unseal)               \
    use(Esys_FlushContext)

// The functions that this program calls, with the types of the headers.
struct hybrid_tss2 {
#define HYBRID_FIELD(name) __typeof__(name) *_Nonnull name;
    HYBRID_ESYS_FUNCTIONS(HYBRID_FIELD)
    HYBRID_FIELD(Tss2_TctiLdr_Initialize)
    HYBRID_FIELD(Tss2_TctiLdr_Finalize)
    HYBRID_FIELD(Tss2_RC_Decode)
#undef HYBRID_FIELD
};

// Loads the libraries for the life of the process. Returns false if one is missing; then dlerror has the reason.
static inline bool hybrid_tss2_load(struct hybrid_tss2 *_Nonnull tss2) {
    void *library;
#define HYBRID_LOAD(name)                                                                                              \
    {                                                                                                                  \
        void *symbol = dlsym(library, #name);                                                                          \
        if (!symbol) return false;                                                                                     \
        tss2->name = (__typeof__(name) *)symbol;                                                                       \
    }
    if (!(library = dlopen("libtss2-esys.so.0", RTLD_NOW | RTLD_LOCAL))) return false;
    HYBRID_ESYS_FUNCTIONS(HYBRID_LOAD)
    if (!(library = dlopen("libtss2-tctildr.so.0", RTLD_NOW | RTLD_LOCAL))) return false;
    HYBRID_LOAD(Tss2_TctiLdr_Initialize)
    HYBRID_LOAD(Tss2_TctiLdr_Finalize)
    if (!(library = dlopen("libtss2-rc.so.0", RTLD_NOW | RTLD_LOCAL))) return false;
    HYBRID_LOAD(Tss2_RC_Decode)
#undef HYBRID_LOAD
    return true;
}

// Constants whose macros Swift cannot import.
static const ESYS_TR hybrid_no_handle = ESYS_TR_NONE;
static const ESYS_TR hybrid_owner = ESYS_TR_RH_OWNER;
static const ESYS_TR hybrid_endorsement = ESYS_TR_RH_ENDORSEMENT;
static const ESYS_TR hybrid_password = ESYS_TR_PASSWORD;
