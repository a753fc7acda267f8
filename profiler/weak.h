/* Functions of MPI that this library uses without replacing them. Weak, as those of calls.def: it is also
 * loaded into launchers and shells, which have no MPI, and must not keep them from starting. */
#ifndef CROSSCUT_WEAK_H
#define CROSSCUT_WEAK_H

#pragma weak PMPI_Cart_shift
#pragma weak PMPI_Cartdim_get
#pragma weak PMPI_Comm_create_keyval
#pragma weak PMPI_Comm_get_attr
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_remote_group
#pragma weak PMPI_Comm_set_attr
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Dist_graph_neighbors
#pragma weak PMPI_Dist_graph_neighbors_count
#pragma weak PMPI_Graph_neighbors
#pragma weak PMPI_Graph_neighbors_count
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_rank
#pragma weak PMPI_Group_size
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Op_commutative
#pragma weak PMPI_Test_cancelled
#pragma weak PMPI_Topo_test
#pragma weak PMPI_Type_size_c
#pragma weak PMPI_Win_create_keyval
#pragma weak PMPI_Win_get_attr
#pragma weak PMPI_Win_get_group
#pragma weak PMPI_Win_set_attr
#pragma weak PMPI_Type_size_x

#endif
